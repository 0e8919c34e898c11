(** Terms and formulas of the verifier as data, what they mean, and substitution.

    One type of terms, with de Bruijn indices.  A head ([HFree], [HBound], [Ap], [ApV], [Lam]) is
    applied to arguments; [Val] makes the number of a head that has all of them. *)
Require Import ZArith Lia Lra FunctionalExtensionality Bool.
From Derive Require Import Prelude Sums.
Open Scope R_scope.

Inductive fname := Fsin | Fcos | Fexp | Fln | Fsqrt | Fabs | Ffloor.
Inductive kind := KReal | KInt | KNat | KDim | KFin.

Inductive tm : Type :=
| Num (p : Z) (q : positive)
| Pi
| Free (x : positive) (k : kind) (n : tm)
| Bound (i : nat)
| Add (a b : tm)
| Mul (a b : tm)
| Opp (a : tm)
| Inv (a : tm)
| Pow (a : tm) (k : nat)
| Fn (f : fname) (a : tm)
| Max (a b : tm)
| Min (a b : tm)
| RPow (a b : tm)
| Delta (a b : tm)
| TSum (n b : tm)
| TProd (n b : tm)
| Exp_ (b : tm)
| Val (h : tm)
| HFree (x : positive) (random : bool)
| HBound (i : nat)
| Ap (h a : tm)
| ApV (h n b : tm)
| Lam (h : tm)
| TDet (n h : tm).

(** What quantifiers range over: numbers, tensors with k indices, functions of k numbers and a
    vector with its length, random tensors with k indices. *)
Inductive range := QNum (k : kind) | QTen (k : nat) | QFun (k : nat) | QRan (k : nat).

Inductive fm : Type :=
| FEq (a b : tm)
| FLe (a b : tm)
| FLt (a b : tm)
| FInt (a : tm)
| FTrue
| FFalse
| FAnd (p q : fm)
| FOr (p q : fm)
| FNot (p : fm)
| FImp (p q : fm)
| FAll (r : range) (n : tm) (p : fm)
| FEx (r : range) (n : tm) (p : fm)
| FGrad1 (n f p v : tm)
| FGrad2 (n m f p v : tm)
| FGrad3 (n m k f p v : tm)
| FGrad4 (n m k o f p v : tm).

Inductive arg := AR (r : R) | AF (f : R -> R).

(** The list [AR x1; ...; AR xk] for a function of k numbers. *)
Fixpoint fn_of (k : nat) : Type := match k with O => R | S j => R -> fn_of j end.
Fixpoint ap_list (k : nat) (f : fn_of k) (l : list arg) : R :=
  match k return fn_of k -> R with
  | O => fun r => r
  | S j => fun g => match l with AR x :: l' => ap_list j (g x) l' | _ => 0 end
  end f.
Fixpoint fun_of (k : nat) : Type :=
  match k with O => R -> (R -> R) -> R | S j => R -> fun_of j end.
Fixpoint ap_fun (k : nat) (f : fun_of k) (l : list arg) : R :=
  match k return fun_of k -> R with
  | O => fun g => match l with AR n :: AF v :: _ => g n v | _ => 0 end
  | S j => fun g => match l with AR x :: l' => ap_fun j (g x) l' | _ => 0 end
  end f.

Definition number (p : Z) (q : positive) : R :=
  match q with xH => IZR p | _ => IZR p / IZR (Zpos q) end.

Definition apply_fn (f : fname) (x : R) : R :=
  match f with
  | Fsin => sin x | Fcos => cos x | Fexp => exp x | Fln => ln x | Fsqrt => sqrt x
  | Fabs => Rabs x | Ffloor => floor x
  end.

(** The number itself if it lies in the range of its kind, otherwise one that does. *)
Definition nat_dec (x : R) : {is_nat x} + {~ is_nat x}.
Proof.
  unfold is_nat. destruct (int_dec x); [|right; tauto].
  destruct (Rle_dec 0 x); [left|right]; tauto.
Defined.
Definition size_dec (x : R) : {is_size x} + {~ is_size x}.
Proof.
  unfold is_size. destruct (int_dec x); [|right; tauto].
  destruct (Rle_dec 1 x); [left|right]; tauto.
Defined.
Definition clamp (k : kind) (n v : R) : R :=
  match k with
  | KReal => v
  | KInt => if int_dec v then v else 0
  | KNat => if nat_dec v then v else 0
  | KDim => if size_dec v then v else 1
  | KFin => if index_dec n v then v else 0
  end.
Definition member (k : kind) (n v : R) : Prop :=
  match k with
  | KReal => True
  | KInt => is_int v
  | KNat => is_nat v
  | KDim => is_size v
  | KFin => is_index n v
  end.

Lemma clamp_member : forall k n v, member k n v -> clamp k n v = v.
Proof.
  intros [] n v H; simpl in *; try easy;
    [destruct int_dec|destruct nat_dec|destruct size_dec|destruct index_dec]; tauto.
Qed.

Section Meaning.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega).

Definition val := Omega -> list arg -> R.
Definition env := nat -> val.
Definition sc (x : R) : val := fun _ _ => x.
Definition det (f : list arg -> R) : val := fun _ => f.
Definition scons (v : val) (e : env) : env := fun k => match k with O => v | S j => e j end.
Definition e0 : env := fun _ => sc 0.

Fixpoint eval (fe : positive -> val) (t : tm) (w : Omega) (e : env) (l : list arg) {struct t} : R :=
  match t with
  | Num p q => number p q
  | Pi => PI
  | Free x k n => clamp k (eval fe n w0 e0 []) (fe x w0 [])
  | Bound i => e i w []
  | Add a b => eval fe a w e [] + eval fe b w e []
  | Mul a b => eval fe a w e [] * eval fe b w e []
  | Opp a => - eval fe a w e []
  | Inv a => / eval fe a w e []
  | Pow a k => eval fe a w e [] ^ k
  | Fn f a => apply_fn f (eval fe a w e [])
  | Max a b => Rmax (eval fe a w e []) (eval fe b w e [])
  | Min a b => Rmin (eval fe a w e []) (eval fe b w e [])
  | RPow a b => power (eval fe a w e []) (eval fe b w e [])
  | Delta a b => delta (eval fe a w e []) (eval fe b w e [])
  | TSum n b => Sum (eval fe n w e []) (fun v => eval fe b w (scons (sc v) e) [])
  | TProd n b => Product (eval fe n w e []) (fun v => eval fe b w (scons (sc v) e) [])
  | Exp_ b => E (fun w' => eval fe b w' e [])
  | Val h => eval fe h w e []
  | HFree x random => if random then fe x w l else fe x w0 l
  | HBound i => e i w l
  | Ap h a => eval fe h w e (AR (eval fe a w e []) :: l)
  | ApV h n b =>
      eval fe h w e (AR (eval fe n w e [])
        :: AF (vector (eval fe n w e []) (fun v => eval fe b w (scons (sc v) e) [])) :: l)
  | Lam h => match l with AR x :: l' => eval fe h w (scons (sc x) e) l' | _ => 0 end
  | TDet n h => Det (eval fe n w e []) (fun i j => eval fe h w e [AR i; AR j])
  end.

Definition ev (fe : positive -> val) (t : tm) (e : env) : R := eval fe t w0 e [].
Definition ten1 (T : R -> R) : val := det (ap_list 1 T).
Definition ten2 (T : R -> R -> R) : val := det (ap_list 2 T).
Definition ten3 (T : R -> R -> R -> R) : val := det (ap_list 3 T).
Definition ten4 (T : R -> R -> R -> R -> R) : val := det (ap_list 4 T).

Definition all_of (r : range) (n : R) (P : val -> Prop) : Prop :=
  match r with
  | QNum KReal => forall x : R, P (sc x)
  | QNum KInt => forall x : R, is_int x -> P (sc x)
  | QNum KNat => forall x : R, is_nat x -> P (sc x)
  | QNum KDim => forall x : R, is_size x -> P (sc x)
  | QNum KFin => forall x : R, is_index n x -> P (sc x)
  | QTen k => forall T : fn_of k, P (det (ap_list k T))
  | QFun k => forall T : fun_of k, P (det (ap_fun k T))
  | QRan k => forall T : Omega -> fn_of k, P (fun w => ap_list k (T w))
  end.
Definition some_of (r : range) (n : R) (P : val -> Prop) : Prop :=
  match r with
  | QNum KReal => exists x : R, P (sc x)
  | QNum KInt => exists x : R, is_int x /\ P (sc x)
  | QNum KNat => exists x : R, is_nat x /\ P (sc x)
  | QNum KDim => exists x : R, is_size x /\ P (sc x)
  | QNum KFin => exists x : R, is_index n x /\ P (sc x)
  | QTen k => exists T : fn_of k, P (det (ap_list k T))
  | QFun k => exists T : fun_of k, P (det (ap_fun k T))
  | QRan k => exists T : Omega -> fn_of k, P (fun w => ap_list k (T w))
  end.
Definition in_range (r : range) (n : R) (v : val) : Prop :=
  match r with
  | QNum k => exists x, member k n x /\ v = sc x
  | QTen k => exists T, v = det (ap_list k T)
  | QFun k => exists T, v = det (ap_fun k T)
  | QRan k => exists T, v = fun w => ap_list k (T w)
  end.

Lemma all_of_iff : forall r n P, all_of r n P <-> (forall v, in_range r n v -> P v).
Proof.
  intros r n P. split.
  - intros H v Hv. destruct r as [[]| | |]; simpl in *;
      [destruct Hv as (x & Hx & ->)..|destruct Hv as (x & ->)|destruct Hv as (x & ->)
      |destruct Hv as (x & ->)]; auto.
  - intros H. destruct r as [[]| | |]; simpl in *; intros; apply H; eauto.
Qed.

Lemma some_of_iff : forall r n P, some_of r n P <-> (exists v, in_range r n v /\ P v).
Proof.
  intros r n P. split.
  - destruct r as [[]| | |]; simpl;
      [intros (x & Px)|intros (x & Hx & Px)..|intros (x & Px)|intros (x & Px)|intros (x & Px)];
      eexists; (split; [|exact Px]); eauto.
  - intros (v & Hv & Pv).
    destruct r as [[]| | |]; simpl in *;
      [destruct Hv as (x & Hx & ->)..|destruct Hv as (x & ->)|destruct Hv as (x & ->)
      |destruct Hv as (x & ->)]; eauto.
Qed.

Fixpoint holds (fe : positive -> val) (p : fm) (e : env) {struct p} : Prop :=
  match p with
  | FEq a b => ev fe a e = ev fe b e
  | FLe a b => ev fe a e <= ev fe b e
  | FLt a b => ev fe a e < ev fe b e
  | FInt a => is_int (ev fe a e)
  | FTrue => True
  | FFalse => False
  | FAnd p q => holds fe p e /\ holds fe q e
  | FOr p q => holds fe p e \/ holds fe q e
  | FNot p => ~ holds fe p e
  | FImp p q => holds fe p e -> holds fe q e
  | FAll r n p => all_of r (ev fe n e) (fun v => holds fe p (scons v e))
  | FEx r n p => some_of r (ev fe n e) (fun v => holds fe p (scons v e))
  | FGrad1 n f p v =>
      gradient1 (ev fe n e) (fun X => ev fe f (scons (ten1 X) e))
        (fun i => ev fe p (scons (sc i) e)) (fun i => ev fe v (scons (sc i) e))
  | FGrad2 n m f p v =>
      gradient2 (ev fe n e) (ev fe m e) (fun X => ev fe f (scons (ten2 X) e))
        (fun i j => ev fe p (scons (sc j) (scons (sc i) e)))
        (fun i j => ev fe v (scons (sc j) (scons (sc i) e)))
  | FGrad3 n m k f p v =>
      gradient3 (ev fe n e) (ev fe m e) (ev fe k e) (fun X => ev fe f (scons (ten3 X) e))
        (fun i j l => ev fe p (scons (sc l) (scons (sc j) (scons (sc i) e))))
        (fun i j l => ev fe v (scons (sc l) (scons (sc j) (scons (sc i) e))))
  | FGrad4 n m k o f p v =>
      gradient4 (ev fe n e) (ev fe m e) (ev fe k e) (ev fe o e)
        (fun X => ev fe f (scons (ten4 X) e))
        (fun a b c d => ev fe p (scons (sc d) (scons (sc c) (scons (sc b) (scons (sc a) e)))))
        (fun a b c d => ev fe v (scons (sc d) (scons (sc c) (scons (sc b) (scons (sc a) e)))))
  end.

(** ** Renaming and substitution *)
Definition up (r : nat -> nat) : nat -> nat := fun k => match k with O => O | S j => S (r j) end.

(** A map of the leaves: [r] for the free and bound names, [u] goes under a binder. *)
Fixpoint ren (r : nat -> nat) (t : tm) : tm :=
  match t with
  | Num _ _ | Pi | Free _ _ _ | HFree _ _ => t
  | Bound i => Bound (r i)
  | HBound i => HBound (r i)
  | Add a b => Add (ren r a) (ren r b)
  | Mul a b => Mul (ren r a) (ren r b)
  | Opp a => Opp (ren r a)
  | Inv a => Inv (ren r a)
  | Pow a k => Pow (ren r a) k
  | Fn f a => Fn f (ren r a)
  | Max a b => Max (ren r a) (ren r b)
  | Min a b => Min (ren r a) (ren r b)
  | RPow a b => RPow (ren r a) (ren r b)
  | Delta a b => Delta (ren r a) (ren r b)
  | TSum n b => TSum (ren r n) (ren (up r) b)
  | TProd n b => TProd (ren r n) (ren (up r) b)
  | Exp_ b => Exp_ (ren r b)
  | Val h => Val (ren r h)
  | Ap h a => Ap (ren r h) (ren r a)
  | ApV h n b => ApV (ren r h) (ren r n) (ren (up r) b)
  | Lam h => Lam (ren (up r) h)
  | TDet n h => TDet (ren r n) (ren r h)
  end.

Lemma matrix_ext : forall f g : R -> R -> R, (forall i j, f i j = g i j) -> f = g.
Proof.
  intros f g H. apply functional_extensionality. intros i. apply functional_extensionality. auto.
Qed.

Lemma scons_up : forall v (e : env) r, (fun k => scons v e (up r k)) = scons v (fun k => e (r k)).
Proof. intros. apply functional_extensionality. now intros []. Qed.

Lemma eval_ren : forall fe t r w e l, eval fe (ren r t) w e l = eval fe t w (fun k => e (r k)) l.
Proof.
  intros fe. induction t; intros r w e l; simpl; try reflexivity;
    rewrite ?IHt, ?IHt1, ?IHt2, ?IHt3; try reflexivity.
  - f_equal. apply functional_extensionality. intros v. now rewrite IHt2, scons_up.
  - f_equal. apply functional_extensionality. intros v. now rewrite IHt2, scons_up.
  - f_equal. apply functional_extensionality. intros w'. now rewrite IHt.
  - do 5 f_equal. apply functional_extensionality. intros v. now rewrite IHt3, scons_up.
  - destruct l as [|[]]; [easy| |easy]. now rewrite IHt, scons_up.
  - f_equal. apply matrix_ext. intros i j. now rewrite IHt2.
Qed.

Definition lift (t : tm) : tm := ren S t.
Lemma eval_lift : forall fe t w v e l, eval fe (lift t) w (scons v e) l = eval fe t w e l.
Proof. intros. unfold lift. now rewrite eval_ren. Qed.

(** The value of a bound name: a number, a head, or another bound name. *)
Inductive vl := VS (t : tm) | VH (h : tm) | VB (i : nat).
Definition lift_vl (v : vl) : vl :=
  match v with VS t => VS (lift t) | VH h => VH (lift h) | VB i => VB (S i) end.
Definition up_vl (s : nat -> vl) : nat -> vl :=
  fun k => match k with O => VB 0 | S j => lift_vl (s j) end.

Definition is_head (t : tm) : bool :=
  match t with HFree _ _ | HBound _ | Ap _ _ | ApV _ _ _ | Lam _ => true | _ => false end.
Definition scalar (t : tm) : tm := if is_head t then Val t else t.
Definition as_number (v : vl) : tm :=
  match v with VS t => scalar t | VH h => Val h | VB i => Bound i end.
Definition as_head (v : vl) : tm :=
  match v with VS t => Val t | VH h => h | VB i => HBound i end.

Fixpoint sub (s : nat -> vl) (t : tm) : tm :=
  match t with
  | Num _ _ | Pi | Free _ _ _ | HFree _ _ => t
  | Bound i => as_number (s i)
  | HBound i => as_head (s i)
  | Add a b => Add (sub s a) (sub s b)
  | Mul a b => Mul (sub s a) (sub s b)
  | Opp a => Opp (sub s a)
  | Inv a => Inv (sub s a)
  | Pow a k => Pow (sub s a) k
  | Fn f a => Fn f (sub s a)
  | Max a b => Max (sub s a) (sub s b)
  | Min a b => Min (sub s a) (sub s b)
  | RPow a b => RPow (sub s a) (sub s b)
  | Delta a b => Delta (sub s a) (sub s b)
  | TSum n b => TSum (sub s n) (sub (up_vl s) b)
  | TProd n b => TProd (sub s n) (sub (up_vl s) b)
  | Exp_ b => Exp_ (sub s b)
  | Val h => Val (sub s h)
  | Ap h a => Ap (sub s h) (sub s a)
  | ApV h n b => ApV (sub s h) (sub s n) (sub (up_vl s) b)
  | Lam h => Lam (sub (up_vl s) h)
  | TDet n h => TDet (sub s n) (sub s h)
  end.

Definition vval fe (v : vl) (e : env) : val :=
  match v with
  | VS t => fun w _ => eval fe t w e []
  | VH h => fun w l => eval fe h w e l
  | VB i => e i
  end.

Lemma vval_lift : forall fe v u e, vval fe (lift_vl v) (scons u e) = vval fe v e.
Proof.
  intros fe [] u e; simpl; [| |easy];
    apply functional_extensionality; intros w; apply functional_extensionality; intros l;
    apply eval_lift.
Qed.

Lemma scons_up_vl : forall fe s u e,
  (fun k => vval fe (up_vl s k) (scons u e)) = scons u (fun k => vval fe (s k) e).
Proof.
  intros. apply functional_extensionality. intros [|k]; simpl; [easy|]. apply vval_lift.
Qed.

Lemma eval_scalar : forall fe t w e l, is_head t = false -> eval fe t w e l = eval fe t w e [].
Proof. intros fe [] w e l H; now simpl in *. Qed.

Lemma eval_sub : forall fe t s w e l,
  eval fe (sub s t) w e l = eval fe t w (fun k => vval fe (s k) e) l.
Proof.
  intros fe. induction t; intros s w e l; simpl; try reflexivity;
    rewrite ?IHt, ?IHt1, ?IHt2, ?IHt3; try reflexivity.
  - destruct (s i); simpl; try easy. unfold scalar.
    destruct (is_head t) eqn:H; [easy|]. now apply eval_scalar.
  - f_equal. apply functional_extensionality. intros v. now rewrite IHt2, scons_up_vl.
  - f_equal. apply functional_extensionality. intros v. now rewrite IHt2, scons_up_vl.
  - f_equal. apply functional_extensionality. intros w'. now rewrite IHt.
  - now destruct (s i).
  - do 5 f_equal. apply functional_extensionality. intros v. now rewrite IHt3, scons_up_vl.
  - destruct l as [|[]]; [easy| |easy]. now rewrite IHt, scons_up_vl.
  - f_equal. apply matrix_ext. intros i j. now rewrite IHt2.
Qed.

Definition one (v : vl) : nat -> vl := fun k => match k with O => v | S j => VB j end.
Lemma one_env : forall fe v e, (fun k => vval fe (one v k) e) = scons (vval fe v e) e.
Proof. intros. apply functional_extensionality. now intros []. Qed.
Definition inst (v : vl) (t : tm) : tm := sub (one v) t.
Lemma eval_inst : forall fe v t w e l,
  eval fe (inst v t) w e l = eval fe t w (scons (vval fe v e) e) l.
Proof. intros. unfold inst. now rewrite eval_sub, one_env. Qed.

Fixpoint fsub (s : nat -> vl) (p : fm) : fm :=
  match p with
  | FEq a b => FEq (sub s a) (sub s b)
  | FLe a b => FLe (sub s a) (sub s b)
  | FLt a b => FLt (sub s a) (sub s b)
  | FInt a => FInt (sub s a)
  | FTrue | FFalse => p
  | FAnd p q => FAnd (fsub s p) (fsub s q)
  | FOr p q => FOr (fsub s p) (fsub s q)
  | FNot p => FNot (fsub s p)
  | FImp p q => FImp (fsub s p) (fsub s q)
  | FAll r n p => FAll r (sub s n) (fsub (up_vl s) p)
  | FEx r n p => FEx r (sub s n) (fsub (up_vl s) p)
  | FGrad1 n f p v => FGrad1 (sub s n) (sub (up_vl s) f) (sub (up_vl s) p) (sub (up_vl s) v)
  | FGrad2 n m f p v =>
      FGrad2 (sub s n) (sub s m) (sub (up_vl s) f) (sub (up_vl (up_vl s)) p)
        (sub (up_vl (up_vl s)) v)
  | FGrad3 n m k f p v =>
      FGrad3 (sub s n) (sub s m) (sub s k) (sub (up_vl s) f) (sub (up_vl (up_vl (up_vl s))) p)
        (sub (up_vl (up_vl (up_vl s))) v)
  | FGrad4 n m k o f p v =>
      let s4 := up_vl (up_vl (up_vl (up_vl s))) in
      FGrad4 (sub s n) (sub s m) (sub s k) (sub s o) (sub (up_vl s) f) (sub s4 p) (sub s4 v)
  end.

Lemma all_of_ext : forall r n P Q, (forall v, P v <-> Q v) -> all_of r n P <-> all_of r n Q.
Proof. intros r n P Q H. rewrite !all_of_iff. split; intros K v Hv; apply H; auto. Qed.
Lemma some_of_ext : forall r n P Q, (forall v, P v <-> Q v) -> some_of r n P <-> some_of r n Q.
Proof.
  intros r n P Q H. rewrite !some_of_iff. split; intros (v & Hv & K); exists v; split; auto;
    now apply H.
Qed.

Lemma ev_sub : forall fe s t e, ev fe (sub s t) e = ev fe t (fun k => vval fe (s k) e).
Proof. intros. apply eval_sub. Qed.

Lemma holds_fsub : forall fe p s e,
  holds fe (fsub s p) e <-> holds fe p (fun k => vval fe (s k) e).
Proof.
  intros fe. induction p; intros s e; simpl; rewrite ?ev_sub; try tauto.
  - rewrite IHp1, IHp2. tauto.
  - rewrite IHp1, IHp2. tauto.
  - rewrite IHp. tauto.
  - rewrite IHp1, IHp2. tauto.
  - apply all_of_ext. intros v. now rewrite IHp, scons_up_vl.
  - apply some_of_ext. intros v. now rewrite IHp, scons_up_vl.
  - match goal with |- ?A <-> ?B => enough (A = B) as -> by tauto end.
    f_equal; apply functional_extensionality; intros; now rewrite ev_sub, scons_up_vl.
  - match goal with |- ?A <-> ?B => enough (A = B) as -> by tauto end.
    f_equal; repeat (apply functional_extensionality; intros); now rewrite ev_sub, ?scons_up_vl.
  - match goal with |- ?A <-> ?B => enough (A = B) as -> by tauto end.
    f_equal; repeat (apply functional_extensionality; intros); now rewrite ev_sub, ?scons_up_vl.
  - match goal with |- ?A <-> ?B => enough (A = B) as -> by tauto end.
    f_equal; repeat (apply functional_extensionality; intros); now rewrite ev_sub, ?scons_up_vl.
Qed.

Definition finst (v : vl) (p : fm) : fm := fsub (one v) p.
Lemma holds_finst : forall fe v p e, holds fe (finst v p) e <-> holds fe p (scons (vval fe v e) e).
Proof. intros. unfold finst. now rewrite holds_fsub, one_env. Qed.

(** ** Closed terms, terms without random symbols *)
Fixpoint closed (d : nat) (t : tm) : bool :=
  match t with
  | Num _ _ | Pi | Free _ _ _ | HFree _ _ => true
  | Bound i | HBound i => Nat.ltb i d
  | Opp a | Inv a | Pow a _ | Fn _ a | Exp_ a | Val a => closed d a
  | Add a b | Mul a b | Max a b | Min a b | RPow a b | Delta a b | Ap a b | TDet a b =>
      closed d a && closed d b
  | TSum n b | TProd n b => closed d n && closed (S d) b
  | ApV h n b => closed d h && closed d n && closed (S d) b
  | Lam h => closed (S d) h
  end.

Definition agree (d : nat) (e e' : env) : Prop := forall i, (i < d)%nat -> e i = e' i.
Lemma agree_scons : forall d v e e', agree d e e' -> agree (S d) (scons v e) (scons v e').
Proof. intros d v e e' H [|i] L; simpl; [easy|]. apply H. lia. Qed.

Lemma eval_closed : forall fe t d w e e' l, closed d t = true -> agree d e e' ->
  eval fe t w e l = eval fe t w e' l.
Proof.
  intros fe. induction t; intros d w e e' l C A; simpl in *; try reflexivity;
    rewrite ?andb_true_iff in C; try apply Nat.ltb_lt in C;
    try (now rewrite (A i)); try (now erewrite IHt by eassumption);
    try (now destruct C; erewrite IHt1, IHt2 by eassumption).
  - destruct C as [C1 C2]. erewrite IHt1 by eassumption. f_equal.
    apply functional_extensionality. intros v. erewrite IHt2; [reflexivity|eassumption|].
    now apply agree_scons.
  - destruct C as [C1 C2]. erewrite IHt1 by eassumption. f_equal.
    apply functional_extensionality. intros v. erewrite IHt2; [reflexivity|eassumption|].
    now apply agree_scons.
  - f_equal. apply functional_extensionality. intros w'. now erewrite IHt by eassumption.
  - destruct C as [[C1 C2] C3]. erewrite IHt1, IHt2 by eassumption. do 5 f_equal.
    apply functional_extensionality. intros v. erewrite IHt3; [reflexivity|eassumption|].
    now apply agree_scons.
  - destruct l as [|[]]; [easy| |easy]. erewrite IHt; [reflexivity|eassumption|].
    now apply agree_scons.
  - destruct C as [C1 C2]. erewrite IHt1 by eassumption. f_equal. apply matrix_ext. intros i j.
    now erewrite IHt2 by eassumption.
Qed.

Lemma eval_closed0 : forall fe t w e e' l, closed 0 t = true ->
  eval fe t w e l = eval fe t w e' l.
Proof. intros fe t w e e' l C. eapply eval_closed; [eassumption|]. intros i H. lia. Qed.

Fixpoint still (t : tm) : bool :=
  match t with
  | Num _ _ | Pi | Free _ _ _ | Bound _ | HBound _ | Exp_ _ => true
  | HFree _ random => negb random
  | Opp a | Inv a | Pow a _ | Fn _ a | Val a | Lam a => still a
  | Add a b | Mul a b | Max a b | Min a b | RPow a b | Delta a b | Ap a b
  | TSum a b | TProd a b | TDet a b => still a && still b
  | ApV h n b => still h && still n && still b
  end.

(** No entry of the environment depends on the outcome. *)
Definition steady (e : env) : Prop := forall k w w' l, e k w l = e k w' l.
Lemma steady_sc : forall x e, steady e -> steady (scons (sc x) e).
Proof. intros x e H [|k] w w' l; simpl; auto. Qed.
Lemma steady_e0 : steady e0.
Proof. now intros k w w' l. Qed.

Lemma eval_still : forall fe t w w' e l, still t = true -> steady e ->
  eval fe t w e l = eval fe t w' e l.
Proof.
  intros fe. induction t; intros w w' e l C A; simpl in *; try reflexivity;
    rewrite ?andb_true_iff in C; try (apply A);
    try (now rewrite (IHt w w') by eassumption);
    try (now destruct C; rewrite (IHt1 w w'), (IHt2 w w') by eassumption).
  - destruct C as [C1 C2]. rewrite (IHt1 w w') by easy. f_equal.
    apply functional_extensionality. intros v. apply IHt2; [easy|now apply steady_sc].
  - destruct C as [C1 C2]. rewrite (IHt1 w w') by easy. f_equal.
    apply functional_extensionality. intros v. apply IHt2; [easy|now apply steady_sc].
  - now destruct random.
  - destruct C as [[C1 C2] C3]. rewrite (IHt1 w w'), (IHt2 w w') by easy. do 5 f_equal.
    apply functional_extensionality. intros v. apply IHt3; [easy|now apply steady_sc].
  - destruct l as [|[]]; [easy| |easy]. apply IHt; [easy|now apply steady_sc].
  - destruct C as [C1 C2]. rewrite (IHt1 w w') by easy. f_equal. apply matrix_ext. intros i j.
    now apply IHt2.
Qed.

(** ** Free names *)
Definition upd (fe : positive -> val) (x : positive) (v : val) : positive -> val :=
  fun y => if Pos.eqb y x then v else fe y.

(** [x] does not occur *)
Fixpoint lacks (x : positive) (t : tm) : bool :=
  match t with
  | Num _ _ | Pi | Bound _ | HBound _ => true
  | Free y _ n => negb (Pos.eqb y x) && lacks x n
  | HFree y _ => negb (Pos.eqb y x)
  | Opp a | Inv a | Pow a _ | Fn _ a | Exp_ a | Val a | Lam a => lacks x a
  | Add a b | Mul a b | Max a b | Min a b | RPow a b | Delta a b | Ap a b
  | TSum a b | TProd a b | TDet a b => lacks x a && lacks x b
  | ApV h n b => lacks x h && lacks x n && lacks x b
  end.

Lemma eval_lacks : forall fe x v t w e l, lacks x t = true ->
  eval (upd fe x v) t w e l = eval fe t w e l.
Proof.
  intros fe x v. induction t; intros w e l C; simpl in *; try reflexivity;
    rewrite ?andb_true_iff in C;
    try (now rewrite IHt by eassumption);
    try (now destruct C; rewrite IHt1, IHt2 by eassumption).
  - destruct C as [C1 C2]. rewrite IHt by easy. unfold upd. now destruct Pos.eqb.
  - destruct C as [C1 C2]. rewrite IHt1 by easy. f_equal.
    apply functional_extensionality. intros u. now apply IHt2.
  - destruct C as [C1 C2]. rewrite IHt1 by easy. f_equal.
    apply functional_extensionality. intros u. now apply IHt2.
  - f_equal. apply functional_extensionality. intros u. now apply IHt.
  - unfold upd. now destruct Pos.eqb.
  - destruct C as [[C1 C2] C3]. rewrite IHt1, IHt2 by easy. do 5 f_equal.
    apply functional_extensionality. intros u. now apply IHt3.
  - destruct l as [|[]]; [easy| |easy]. now apply IHt.
  - destruct C as [C1 C2]. rewrite IHt1 by easy. f_equal. apply matrix_ext. intros i j.
    now apply IHt2.
Qed.

(** The free name [x] becomes the bound name [d]. *)
Fixpoint bind (x : positive) (d : nat) (t : tm) : tm :=
  let shift i := if Nat.ltb i d then i else S i in
  match t with
  | Num _ _ | Pi => t
  | Free y _ _ => if Pos.eqb y x then Bound d else t
  | HFree y _ => if Pos.eqb y x then HBound d else t
  | Bound i => Bound (shift i)
  | HBound i => HBound (shift i)
  | Add a b => Add (bind x d a) (bind x d b)
  | Mul a b => Mul (bind x d a) (bind x d b)
  | Opp a => Opp (bind x d a)
  | Inv a => Inv (bind x d a)
  | Pow a k => Pow (bind x d a) k
  | Fn f a => Fn f (bind x d a)
  | Max a b => Max (bind x d a) (bind x d b)
  | Min a b => Min (bind x d a) (bind x d b)
  | RPow a b => RPow (bind x d a) (bind x d b)
  | Delta a b => Delta (bind x d a) (bind x d b)
  | TSum n b => TSum (bind x d n) (bind x (S d) b)
  | TProd n b => TProd (bind x d n) (bind x (S d) b)
  | Exp_ b => Exp_ (bind x d b)
  | Val h => Val (bind x d h)
  | Ap h a => Ap (bind x d h) (bind x d a)
  | ApV h n b => ApV (bind x d h) (bind x d n) (bind x (S d) b)
  | Lam h => Lam (bind x (S d) h)
  | TDet n h => TDet (bind x d n) (bind x d h)
  end.

(** [x] occurs only as [m] says, and in the range of no free index. *)
Inductive mode := MNum (k : kind) (n : tm) | MHead (random : bool).

Definition kind_eqb (a b : kind) : bool :=
  match a, b with
  | KReal, KReal | KInt, KInt | KNat, KNat | KDim, KDim | KFin, KFin => true
  | _, _ => false
  end.
Lemma kind_eqb_eq : forall a b, kind_eqb a b = true -> a = b.
Proof. now intros [] []. Qed.

Definition fname_eqb (a b : fname) : bool :=
  match a, b with
  | Fsin, Fsin | Fcos, Fcos | Fexp, Fexp | Fln, Fln | Fsqrt, Fsqrt | Fabs, Fabs
  | Ffloor, Ffloor => true
  | _, _ => false
  end.
Lemma fname_eqb_eq : forall a b, fname_eqb a b = true -> a = b.
Proof. now intros [] []. Qed.

Fixpoint teqb (s t : tm) : bool :=
  match s, t with
  | Num p q, Num p' q' => Z.eqb p p' && Pos.eqb q q'
  | Pi, Pi => true
  | Free x k n, Free x' k' n' => Pos.eqb x x' && kind_eqb k k' && teqb n n'
  | Bound i, Bound j | HBound i, HBound j => Nat.eqb i j
  | Add a b, Add a' b' | Mul a b, Mul a' b' | Max a b, Max a' b' | Min a b, Min a' b'
  | RPow a b, RPow a' b' | Delta a b, Delta a' b' | TSum a b, TSum a' b' | TProd a b, TProd a' b'
  | Ap a b, Ap a' b' | TDet a b, TDet a' b' => teqb a a' && teqb b b'
  | Opp a, Opp a' | Inv a, Inv a' | Exp_ a, Exp_ a' | Val a, Val a' | Lam a, Lam a' => teqb a a'
  | Pow a k, Pow a' k' => teqb a a' && Nat.eqb k k'
  | Fn f a, Fn f' a' => fname_eqb f f' && teqb a a'
  | HFree x r, HFree x' r' => Pos.eqb x x' && Bool.eqb r r'
  | ApV h n b, ApV h' n' b' => teqb h h' && teqb n n' && teqb b b'
  | _, _ => false
  end.

Lemma teqb_eq : forall s t, teqb s t = true -> s = t.
Proof.
  induction s; intros [] H; simpl in H; try discriminate; rewrite ?andb_true_iff in H;
    repeat match goal with H : _ /\ _ |- _ => destruct H end;
    repeat match goal with
    | H : Z.eqb _ _ = true |- _ => apply Z.eqb_eq in H; subst
    | H : Pos.eqb _ _ = true |- _ => apply Pos.eqb_eq in H; subst
    | H : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in H; subst
    | H : kind_eqb _ _ = true |- _ => apply kind_eqb_eq in H; subst
    | H : fname_eqb _ _ = true |- _ => apply fname_eqb_eq in H; subst
    | H : Bool.eqb _ _ = true |- _ => apply Bool.eqb_prop in H; subst
    end; f_equal; auto.
Qed.

Fixpoint fits (m : mode) (x : positive) (t : tm) : bool :=
  match t with
  | Num _ _ | Pi | Bound _ | HBound _ => true
  | Free y k n =>
      if Pos.eqb y x
      then match m with MNum k' n' => kind_eqb k k' && teqb n n' | MHead _ => false end
      else lacks x n
  | HFree y r =>
      if Pos.eqb y x then match m with MHead r' => Bool.eqb r r' | MNum _ _ => false end else true
  | Opp a | Inv a | Pow a _ | Fn _ a | Exp_ a | Val a | Lam a => fits m x a
  | Add a b | Mul a b | Max a b | Min a b | RPow a b | Delta a b | Ap a b
  | TSum a b | TProd a b | TDet a b => fits m x a && fits m x b
  | ApV h n b => fits m x h && fits m x n && fits m x b
  end.

Definition insert (d : nat) (v : val) (e : env) : env :=
  fun k => if Nat.ltb k d then e k else if Nat.eqb k d then v else e (pred k).
Lemma insert_0 : forall v e, insert 0 v e = scons v e.
Proof. intros v e. apply functional_extensionality. now intros []. Qed.
Lemma insert_S : forall d v u e, insert (S d) v (scons u e) = scons u (insert d v e).
Proof.
  intros d v u e. apply functional_extensionality. intros [|k]; [easy|]. unfold insert.
  change (Nat.ltb (S k) (S d)) with (Nat.ltb k d). change (Nat.eqb (S k) (S d)) with (Nat.eqb k d).
  simpl scons. destruct (Nat.ltb k d) eqn:L; [easy|]. destruct (Nat.eqb k d) eqn:Q; [easy|].
  apply Nat.ltb_ge in L. apply Nat.eqb_neq in Q. destruct k; [lia|easy].
Qed.
Lemma insert_shift : forall d v e i, insert d v e (if Nat.ltb i d then i else S i) = e i.
Proof.
  intros d v e i. unfold insert. destruct (Nat.ltb i d) eqn:L; [now rewrite L|].
  apply Nat.ltb_ge in L. replace (Nat.ltb (S i) d) with false by (symmetry; apply Nat.ltb_ge; lia).
  replace (Nat.eqb (S i) d) with false by (symmetry; apply Nat.eqb_neq; lia). easy.
Qed.
Lemma insert_at : forall d v e, insert d v e d = v.
Proof. intros. unfold insert. now rewrite Nat.ltb_irrefl, Nat.eqb_refl. Qed.

(** [v] is a value that [x] can have as [m] says. *)
Definition suits (fe : positive -> val) (m : mode) (x : positive) (v : val) : Prop :=
  match m with
  | MNum k n => exists r, v = sc r /\ member k (eval fe n w0 e0 []) r /\ lacks x n = true
  | MHead false => exists f, v = det f
  | MHead true => True
  end.

Lemma eval_bind : forall fe m x v, suits fe m x v -> forall t d w e l, fits m x t = true ->
  eval fe (bind x d t) w (insert d v e) l = eval (upd fe x v) t w e l.
Proof.
  intros fe m x v S. induction t; intros d w e l C; simpl in *; try reflexivity;
    rewrite ?andb_true_iff in C;
    try (now rewrite insert_shift);
    try (now rewrite IHt by eassumption);
    try (now destruct C; rewrite IHt1, IHt2 by eassumption).
  - unfold upd at 2. destruct (Pos.eqb x0 x) eqn:Q; simpl.
    + rewrite insert_at. destruct m as [k' n'|]; [|easy]. apply andb_true_iff in C.
      destruct C as [C1 C2]. apply kind_eqb_eq in C1. apply teqb_eq in C2. subst.
      destruct S as (r & -> & M & L). rewrite eval_lacks by easy. now rewrite clamp_member.
    + now rewrite eval_lacks.
  - destruct C as [C1 C2]. rewrite IHt1 by easy. f_equal.
    apply functional_extensionality. intros u. rewrite <- IHt2 with (d := Datatypes.S d) by easy.
    now rewrite insert_S.
  - destruct C as [C1 C2]. rewrite IHt1 by easy. f_equal.
    apply functional_extensionality. intros u. rewrite <- IHt2 with (d := Datatypes.S d) by easy.
    now rewrite insert_S.
  - f_equal. apply functional_extensionality. intros u. now apply IHt.
  - unfold upd. destruct (Pos.eqb x0 x) eqn:Q; simpl; [|easy].
    rewrite insert_at. destruct m as [|r']; [easy|]. apply Bool.eqb_prop in C. subst.
    destruct r'; [easy|]. now destruct S as [f ->].
  - destruct C as [[C1 C2] C3]. rewrite IHt1, IHt2 by easy. do 5 f_equal.
    apply functional_extensionality. intros u. rewrite <- IHt3 with (d := Datatypes.S d) by easy.
    now rewrite insert_S.
  - destruct l as [|[]]; [easy| |easy]. rewrite <- IHt with (d := Datatypes.S d) by easy.
    now rewrite insert_S.
  - destruct C as [C1 C2]. rewrite IHt1 by easy. f_equal. apply matrix_ext. intros i j.
    now apply IHt2.
Qed.

(** The same for formulas. *)
Fixpoint flacks (x : positive) (p : fm) : bool :=
  match p with
  | FEq a b | FLe a b | FLt a b => lacks x a && lacks x b
  | FInt a => lacks x a
  | FTrue | FFalse => true
  | FAnd p q | FOr p q | FImp p q => flacks x p && flacks x q
  | FNot p => flacks x p
  | FAll _ n p | FEx _ n p => lacks x n && flacks x p
  | FGrad1 n f p v => lacks x n && lacks x f && lacks x p && lacks x v
  | FGrad2 n m f p v => lacks x n && lacks x m && lacks x f && lacks x p && lacks x v
  | FGrad3 n m k f p v =>
      lacks x n && lacks x m && lacks x k && lacks x f && lacks x p && lacks x v
  | FGrad4 n m k o f p v =>
      lacks x n && lacks x m && lacks x k && lacks x o && lacks x f && lacks x p && lacks x v
  end.

Lemma ev_lacks : forall fe x v t e, lacks x t = true -> ev (upd fe x v) t e = ev fe t e.
Proof. intros. now apply eval_lacks. Qed.

Lemma iff_eq : forall A B : Prop, A = B -> (A <-> B).
Proof. now intros A B ->. Qed.

Lemma holds_flacks : forall fe x v p e, flacks x p = true ->
  holds (upd fe x v) p e <-> holds fe p e.
Proof.
  intros fe x v. induction p; intros e C; simpl in *; rewrite ?andb_true_iff in C;
    repeat match goal with H : _ /\ _ |- _ => destruct H end;
    rewrite ?ev_lacks by easy; try tauto;
    try (rewrite IHp1, IHp2 by easy; tauto).
  - now rewrite IHp.
  - apply all_of_ext. intros u. now rewrite IHp.
  - apply some_of_ext. intros u. now rewrite IHp.
  - apply iff_eq. f_equal; apply functional_extensionality; intros; now rewrite ev_lacks.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros); now rewrite ev_lacks.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros); now rewrite ev_lacks.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros); now rewrite ev_lacks.
Qed.

Fixpoint fbind (x : positive) (d : nat) (p : fm) : fm :=
  match p with
  | FEq a b => FEq (bind x d a) (bind x d b)
  | FLe a b => FLe (bind x d a) (bind x d b)
  | FLt a b => FLt (bind x d a) (bind x d b)
  | FInt a => FInt (bind x d a)
  | FTrue | FFalse => p
  | FAnd p q => FAnd (fbind x d p) (fbind x d q)
  | FOr p q => FOr (fbind x d p) (fbind x d q)
  | FNot p => FNot (fbind x d p)
  | FImp p q => FImp (fbind x d p) (fbind x d q)
  | FAll r n p => FAll r (bind x d n) (fbind x (S d) p)
  | FEx r n p => FEx r (bind x d n) (fbind x (S d) p)
  | FGrad1 n f p v => FGrad1 (bind x d n) (bind x (S d) f) (bind x (S d) p) (bind x (S d) v)
  | FGrad2 n m f p v =>
      FGrad2 (bind x d n) (bind x d m) (bind x (S d) f) (bind x (S (S d)) p) (bind x (S (S d)) v)
  | FGrad3 n m k f p v =>
      FGrad3 (bind x d n) (bind x d m) (bind x d k) (bind x (S d) f) (bind x (S (S (S d))) p)
        (bind x (S (S (S d))) v)
  | FGrad4 n m k o f p v =>
      FGrad4 (bind x d n) (bind x d m) (bind x d k) (bind x d o) (bind x (S d) f)
        (bind x (S (S (S (S d)))) p) (bind x (S (S (S (S d)))) v)
  end.

Fixpoint ffits (m : mode) (x : positive) (p : fm) : bool :=
  match p with
  | FEq a b | FLe a b | FLt a b => fits m x a && fits m x b
  | FInt a => fits m x a
  | FTrue | FFalse => true
  | FAnd p q | FOr p q | FImp p q => ffits m x p && ffits m x q
  | FNot p => ffits m x p
  | FAll _ n p | FEx _ n p => fits m x n && ffits m x p
  | FGrad1 n f p v => fits m x n && fits m x f && fits m x p && fits m x v
  | FGrad2 n k f p v => fits m x n && fits m x k && fits m x f && fits m x p && fits m x v
  | FGrad3 n k j f p v =>
      fits m x n && fits m x k && fits m x j && fits m x f && fits m x p && fits m x v
  | FGrad4 n k j o f p v =>
      fits m x n && fits m x k && fits m x j && fits m x o && fits m x f && fits m x p && fits m x v
  end.

Lemma ev_bind : forall fe m x v t d e, suits fe m x v -> fits m x t = true ->
  ev fe (bind x d t) (insert d v e) = ev (upd fe x v) t e.
Proof. intros. unfold ev. now apply eval_bind with (m := m). Qed.

Lemma holds_bind : forall fe m x v, suits fe m x v -> forall p d e, ffits m x p = true ->
  holds fe (fbind x d p) (insert d v e) <-> holds (upd fe x v) p e.
Proof.
  intros fe m x v SV.
  assert (forall t d e, fits m x t = true ->
    ev fe (bind x d t) (insert d v e) = ev (upd fe x v) t e) as B
    by (intros; now apply ev_bind with (m := m)).
  induction p; intros d e C; simpl in *; rewrite ?andb_true_iff in C;
    repeat match goal with H : _ /\ _ |- _ => destruct H end;
    rewrite ?B by easy; try tauto;
    try (rewrite IHp1, IHp2 by easy; tauto).
  - now rewrite IHp.
  - apply all_of_ext. intros u. now rewrite <- insert_S, IHp.
  - apply some_of_ext. intros u. now rewrite <- insert_S, IHp.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      now rewrite <- ?insert_S, B.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      now rewrite <- ?insert_S, B.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      now rewrite <- ?insert_S, B.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      now rewrite <- ?insert_S, B.
Qed.

End Meaning.
