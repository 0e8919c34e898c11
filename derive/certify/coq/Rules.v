(** The rules of the verifier: each one gives a sequent that holds, or nothing. *)
Require Import ZArith QArith Qreals Lia Lra FunctionalExtensionality Bool Classical.
From Derive Require Import Prelude Sums Terms Poly Signs Normal NormalOk.
Close Scope Q_scope.
Open Scope R_scope.

(** Depth of normal forms *)
Definition F : nat := 150.
Definition nf (K : known) : ctx -> tm -> poly := norm F K.
Definition pf (K : known) (c : ctx) (t : tm) : poly := fin (nf K) c (nf K c t).

(** ** Comparison of formulas *)
Definition kind_range_eqb (a b : range) : bool :=
  match a, b with
  | QNum k, QNum k' => kind_eqb k k'
  | QTen k, QTen k' | QFun k, QFun k' | QRan k, QRan k' => Nat.eqb k k'
  | _, _ => false
  end.
Lemma range_eqb_eq : forall a b, kind_range_eqb a b = true -> a = b.
Proof.
  intros [] [] H; simpl in H; try discriminate;
    try (apply Nat.eqb_eq in H; now subst). apply kind_eqb_eq in H. now subst.
Qed.
Definition entry_of (r : range) (n : tm) : entry :=
  match r with
  | QNum KFin => CIdx n
  | QNum KNat | QNum KDim => CNat
  | _ => CAny
  end.
Definition same (K : known) (c : ctx) (a b : tm) : bool :=
  if teqb a b then true else match pf K c (Add a (Opp b)) with [] => true | _ => false end.
Fixpoint feqb (p q : fm) : bool :=
  match p, q with
  | FEq a b, FEq a' b' | FLe a b, FLe a' b' | FLt a b, FLt a' b' => teqb a a' && teqb b b'
  | FInt a, FInt a' => teqb a a'
  | FTrue, FTrue | FFalse, FFalse => true
  | FAnd p q, FAnd p' q' | FOr p q, FOr p' q' | FImp p q, FImp p' q' => feqb p p' && feqb q q'
  | FNot p, FNot p' => feqb p p'
  | FAll r n p, FAll r' n' p' | FEx r n p, FEx r' n' p' =>
      kind_range_eqb r r' && teqb n n' && feqb p p'
  | FGrad1 n f p v, FGrad1 n' f' p' v' => teqb n n' && teqb f f' && teqb p p' && teqb v v'
  | FGrad2 n m f p v, FGrad2 n' m' f' p' v' =>
      teqb n n' && teqb m m' && teqb f f' && teqb p p' && teqb v v'
  | FGrad3 n m k f p v, FGrad3 n' m' k' f' p' v' =>
      teqb n n' && teqb m m' && teqb k k' && teqb f f' && teqb p p' && teqb v v'
  | FGrad4 n m k o f p v, FGrad4 n' m' k' o' f' p' v' =>
      teqb n n' && teqb m m' && teqb k k' && teqb o o' && teqb f f' && teqb p p' && teqb v v'
  | _, _ => false
  end.
Lemma feqb_eq : forall p q, feqb p q = true -> p = q.
Proof.
  induction p; intros [] H; simpl in H; try discriminate; rewrite ?andb_true_iff in H;
    repeat match goal with H : _ /\ _ |- _ => destruct H end;
    repeat match goal with
    | H : teqb _ _ = true |- _ => apply teqb_eq in H; subst
    | H : kind_range_eqb _ _ = true |- _ => apply range_eqb_eq in H; subst
    end; f_equal; auto.
Qed.
(** The same but for terms with the same normal form *)
Fixpoint alike (c : ctx) (p q : fm) : bool :=
  match p, q with
  | FEq a b, FEq a' b' | FLe a b, FLe a' b' | FLt a b, FLt a' b' =>
      same nothing c a a' && same nothing c b b'
  | FInt a, FInt a' => same nothing c a a'
  | FTrue, FTrue | FFalse, FFalse => true
  | FAnd p q, FAnd p' q' | FOr p q, FOr p' q' | FImp p q, FImp p' q' => alike c p p' && alike c q q'
  | FNot p, FNot p' => alike c p p'
  | FAll (QNum k) n p, FAll (QNum k') n' p' | FEx (QNum k) n p, FEx (QNum k') n' p' =>
      kind_eqb k k' && same nothing c n n' && alike (entry_of (QNum k) n :: c) p p'
  | FAll (QTen k) n p, FAll (QTen k') n' p' | FEx (QTen k) n p, FEx (QTen k') n' p' =>
      Nat.eqb k k' && alike (CAny :: c) p p'
  | _, _ => feqb p q
  end.
Definition equal (p q : fm) : bool := if feqb p q then true else alike [] p q.

Fixpoint fclosed (d : nat) (p : fm) : bool :=
  match p with
  | FEq a b | FLe a b | FLt a b => closed d a && closed d b
  | FInt a => closed d a
  | FTrue | FFalse => true
  | FAnd p q | FOr p q | FImp p q => fclosed d p && fclosed d q
  | FNot p => fclosed d p
  | FAll _ n p | FEx _ n p => closed d n && fclosed (S d) p
  | FGrad1 n f p v => closed d n && closed (S d) f && closed (S d) p && closed (S d) v
  | FGrad2 n m f p v =>
      closed d n && closed d m && closed (S d) f && closed (S (S d)) p && closed (S (S d)) v
  | FGrad3 n m k f p v =>
      closed d n && closed d m && closed d k && closed (S d) f && closed (S (S (S d))) p
      && closed (S (S (S d))) v
  | FGrad4 n m k o f p v =>
      closed d n && closed d m && closed d k && closed d o && closed (S d) f
      && closed (S (S (S (S d)))) p && closed (S (S (S (S d)))) v
  end.

(** ** Beta reduction *)
Fixpoint beta (f : nat) (t : tm) : tm :=
  match f with
  | O => t
  | S g =>
      match t with
      | Val h => let h' := beta g h in if is_head h' then Val h' else h'
      | Ap h a =>
          let a' := beta g a in
          match beta g h with
          | Lam b => if still a' then beta g (inst (VS a') b) else Ap (Lam b) a'
          | h' => Ap h' a'
          end
      | Add a b => Add (beta g a) (beta g b)
      | Mul a b => Mul (beta g a) (beta g b)
      | Opp a => Opp (beta g a)
      | Inv a => Inv (beta g a)
      | Pow a k => Pow (beta g a) k
      | Fn h a => Fn h (beta g a)
      | Max a b => Max (beta g a) (beta g b)
      | Min a b => Min (beta g a) (beta g b)
      | RPow a b => RPow (beta g a) (beta g b)
      | Delta a b => Delta (beta g a) (beta g b)
      | TSum n b => TSum (beta g n) (beta g b)
      | TProd n b => TProd (beta g n) (beta g b)
      | Exp_ b => Exp_ (beta g b)
      | ApV h n b => ApV (beta g h) (beta g n) (beta g b)
      | Lam h => Lam (beta g h)
      | TDet n h => TDet (beta g n) (beta g h)
      | _ => t
      end
  end.
Definition bt : tm -> tm := beta 60.
Fixpoint fbeta (p : fm) : fm :=
  match p with
  | FEq a b => FEq (bt a) (bt b)
  | FLe a b => FLe (bt a) (bt b)
  | FLt a b => FLt (bt a) (bt b)
  | FInt a => FInt (bt a)
  | FTrue | FFalse => p
  | FAnd p q => FAnd (fbeta p) (fbeta q)
  | FOr p q => FOr (fbeta p) (fbeta q)
  | FNot p => FNot (fbeta p)
  | FImp p q => FImp (fbeta p) (fbeta q)
  | FAll (QRan k) n q => p
  | FEx (QRan k) n q => p
  | FAll r n p => FAll r (bt n) (fbeta p)
  | FEx r n p => FEx r (bt n) (fbeta p)
  | FGrad1 n f p v => FGrad1 (bt n) (bt f) (bt p) (bt v)
  | FGrad2 n m f p v => FGrad2 (bt n) (bt m) (bt f) (bt p) (bt v)
  | FGrad3 n m k f p v => FGrad3 (bt n) (bt m) (bt k) (bt f) (bt p) (bt v)
  | FGrad4 n m k o f p v => FGrad4 (bt n) (bt m) (bt k) (bt o) (bt f) (bt p) (bt v)
  end.
Definition at_value (v : vl) (p : fm) : fm :=
  match v with VH _ => fbeta (finst v p) | _ => finst v p end.

(** ** Values in the range of a quantifier *)
Fixpoint lams (k : nat) (h : tm) : bool :=
  match k, h with
  | O, _ => negb (is_head h)
  | S j, Lam h' => lams j h'
  | _, _ => false
  end.
Definition memberb (K : known) (c : ctx) (r : range) (n : tm) (v : vl) : bool :=
  match r, v with
  | QNum KReal, VS t => still t
  | QNum KInt, VS t => still t && intp K c (pf K c t)
  | QNum KNat, VS t => still t && natural K (nf K) c t
  | QNum KDim, VS t =>
      still t && (let p := pf K c t in
        intp K c p && nn K (nf K) c (fin (nf K) c (minus p (pconst 1))))
  | QNum KFin, VS t => still t && within K (nf K) c t n
  | QTen k, VH h => lams k h && still h
  | _, _ => false
  end.

(** ** Facts *)
Definition bare (t : tm) : tm := match t with Inv u => u | _ => t end.
Definition signs_of (s : sign) (t : tm) : list (tm * sign) :=
  let q := pf nothing [] t in
  filter (fun e => closed 0 (fst e) && still (fst e))
    ((to_tm q, s) :: (to_tm (unit_lead q), s)
     :: (if is_nz s then
           (to_tm (monic q), SNz)
           :: match q with
              | [(_, ([], fs))] =>
                  map (fun tk => (bare (fst tk), SNz)) (filter (fun tk => Nat.ltb 0 (snd tk)) fs)
              | _ => []
              end
         else [])).
Definition diff (a b : tm) : tm := Add a (Opp b).
Definition fact (p : fm) : known :=
  match p with
  | FInt t =>
      let u := to_tm (pf nothing [] t) in
      {| ksign := []; kint := if closed 0 u && still u then [u] else [] |}
  | FLt a b => {| ksign := signs_of SPos (diff b a); kint := [] |}
  | FLe a b => {| ksign := signs_of SNn (diff b a); kint := [] |}
  | FNot (FEq a b) => {| ksign := signs_of SNz (diff a b); kint := [] |}
  | _ => nothing
  end.
Fixpoint facts (ps : list fm) : known :=
  match ps with
  | [] => nothing
  | p :: r =>
      let K := fact p in let L := facts r in
      {| ksign := ksign K ++ ksign L; kint := kint K ++ kint L |}
  end.

(** ** Theorems *)
Definition thm := (list fm * fm)%type.
Fixpoint fmem (p : fm) (l : list fm) : bool :=
  match l with [] => false | q :: r => feqb p q || fmem p r end.
Fixpoint union (a b : list fm) : list fm :=
  match a with [] => b | p :: r => if fmem p b then union r b else p :: union r b end.
Fixpoint unions (ts : list thm) : list fm :=
  match ts with [] => [] | t :: r => union (fst t) (unions r) end.
Fixpoint without (h : fm) (l : list fm) : list fm :=
  match l with [] => [] | q :: r => if feqb q h then without h r else q :: without h r end.

(** *** Linear combinations *)
Inductive rel := REq | RLe | RLt.
Record item := { uses : list (nat * list vl); cofactor : tm; sizes : list tm }.
Fixpoint open (K : known) (c : ctx) (p : fm) (vs : list vl) : option fm :=
  match vs with
  | [] => Some p
  | v :: r =>
      match p with
      | FAll rg n q => if memberb K c rg n v then open K c (at_value v q) r else None
      | _ => None
      end
  end.
Definition relation (p : fm) : option (rel * tm) :=
  match p with
  | FEq a b => Some (REq, diff a b)
  | FLe a b => Some (RLe, diff b a)
  | FLt a b => Some (RLt, diff b a)
  | _ => None
  end.
Fixpoint relations (K : known) (c : ctx) (ps : list fm) (us : list (nat * list vl))
  : option (list (rel * tm)) :=
  match us with
  | [] => Some []
  | (k, vs) :: r =>
      match nth_error ps k with
      | Some p =>
          if fclosed 0 p then
            match open K c p vs with
            | Some q =>
                match relation q, relations K c ps r with
                | Some d, Some l => Some (d :: l)
                | _, _ => None
                end
            | None => None
            end
          else None
      | None => None
      end
  end.
Fixpoint product_tm (t : tm) (l : list (rel * tm)) : tm :=
  match l with [] => t | (_, d) :: r => product_tm (Mul t d) r end.
Fixpoint sums_tm (ns : list tm) (t : tm) : tm :=
  match ns with [] => t | n :: r => TSum n (sums_tm r t) end.
Definition has_eq (l : list (rel * tm)) : bool :=
  existsb (fun d => match fst d with REq => true | _ => false end) l.
Definition all_lt (l : list (rel * tm)) : bool :=
  forallb (fun d => match fst d with RLt => true | _ => false end) l.
Fixpoint all_sizes (K : known) (c : ctx) (ns : list tm) : bool :=
  match ns with [] => true | n :: r => is_pos (sgn K c n) && all_sizes K (CIdx n :: c) r end.
(** The sign of a term, whose powers and products may say more than its normal form *)
Fixpoint sign_of (K : known) (c : ctx) (t : tm) : sign :=
  both (both (sgn K c t) (sgn K c (to_tm (pf K c t))))
  match t with
  | Mul a b => of_mul (sign_of K c a) (sign_of K c b)
  | Pow a k => of_pow (sign_of K c a) k
  | Inv a => sign_of K c a
  | _ => SUnk
  end.
(** The value of an item of equations, which is 0 *)
Definition eq_item (K : known) (ps : list fm) (i : item) : option tm :=
  match relations K (ext [] (sizes i)) ps (uses i) with
  | Some l =>
      if has_eq l then Some (sums_tm (sizes i) (product_tm (cofactor i) l)) else None
  | None => None
  end.
(** The value of an item of inequalities, and whether it is positive *)
Definition le_item (K : known) (ps : list fm) (i : item) : option (tm * bool) :=
  let c := ext [] (sizes i) in
  match relations K c ps (uses i) with
  | Some l =>
      let value := sums_tm (sizes i) (product_tm (cofactor i) l) in
      if has_eq l then Some (value, false)
      else
        let s := sign_of K c (cofactor i) in
        if is_nn s then Some (value, is_pos s && all_lt l && all_sizes K [] (sizes i)) else None
  | None => None
  end.
Fixpoint minus_items (t : tm) (vs : list tm) : tm :=
  match vs with [] => t | v :: r => minus_items (diff t v) r end.
Fixpoint traverse {A B : Type} (f : A -> option B) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | a :: r => match f a, traverse f r with Some b, Some s => Some (b :: s) | _, _ => None end
  end.
Definition combination (ps fs : list fm) (goal : fm) (is_ : list item) : bool :=
  match goal with
  | FEq a b =>
      let K := facts fs in
      match traverse (eq_item K ps) is_ with
      | Some vs => match pf K [] (minus_items (diff a b) vs) with [] => true | _ => false end
      | None => false
      end
  | _ => false
  end.
Definition known_sign (K : known) (p : poly) : sign :=
  let s := sgn K [] (to_tm p) in
  if is_pos s then s
  else if nn K (nf K) [] (fin (nf K) [] (minus p (pconst 1))) then SPos
  else both s (if nn K (nf K) [] p then SNn else SUnk).
Definition order (ps fs : list fm) (goal : fm) (is_ : list item) : bool :=
  let K := facts fs in
  match traverse (le_item K ps) is_ with
  | Some vs =>
      match goal with
      | FLe a b => is_nn (known_sign K (pf K [] (minus_items (diff b a) (map fst vs))))
      | FLt a b =>
          let s := known_sign K (pf K [] (minus_items (diff b a) (map fst vs))) in
          is_pos s || is_nn s && existsb snd vs
      | _ => false
      end
  | None => false
  end.

(** *** Evaluation *)
Definition evaluate_relation (K : known) (p : fm) : option bool :=
  match p with
  | FEq a b =>
      let d := pf K [] (diff b a) in
      match d with
      | [] => Some true
      | _ =>
          if is_nz (known_sign K d) || is_nz (known_sign K (fin (nf K) [] (pscale (-1) d)))
          then Some false else None
      end
  | FLe a b =>
      let d := pf K [] (diff b a) in
      if is_nn (known_sign K d) then Some true
      else if is_pos (known_sign K (fin (nf K) [] (pscale (-1) d))) then Some false else None
  | FLt a b =>
      let d := pf K [] (diff b a) in
      if is_pos (known_sign K d) then Some true
      else if is_nn (known_sign K (fin (nf K) [] (pscale (-1) d))) then Some false else None
  | _ => None
  end.
Fixpoint evaluate (f : nat) (K : known) (p : fm) : option bool :=
  match f with
  | O => None
  | S g =>
      match p with
      | FEq _ _ | FLe _ _ | FLt _ _ => evaluate_relation K p
      | FInt a =>
          let q := pf K [] a in
          if intp K [] q then Some true
          else match literal q with
            | Some x => Some (q_int x)
            | None => None
            end
      | FTrue => Some true
      | FFalse => Some false
      | FNot q => match evaluate g K q with Some b => Some (negb b) | None => None end
      | FAnd q r =>
          match evaluate g K q, evaluate g K r with
          | Some false, _ | _, Some false => Some false
          | Some true, Some true => Some true
          | _, _ => None
          end
      | FOr q r =>
          match evaluate g K q, evaluate g K r with
          | Some true, _ | _, Some true => Some true
          | Some false, Some false => Some false
          | _, _ => None
          end
      | FImp q r =>
          match evaluate g K q, evaluate g K r with
          | Some false, _ | _, Some true => Some true
          | Some true, Some false => Some false
          | _, _ => None
          end
      | FAll (QNum KFin) n q =>
          match small (pf K [] n) with
          | Some k =>
              let vs := map (fun j => evaluate g K (finst (VS (Num (Z.of_nat j) 1)) q)) (upto k) in
              if existsb (fun b => match b with Some false => true | _ => false end) vs
              then Some false
              else if forallb (fun b => match b with Some true => true | _ => false end) vs
              then Some true else None
          | None => None
          end
      | _ => None
      end
  end.

(** *** Axioms *)
(** The entries of a matrix are under two names: the row 1 and the column 0. *)
Definition det_of (n b : tm) : tm := TDet n (Lam (Lam b)).
Definition entry_at (row column shift : nat) : nat -> vl :=
  fun k => match k with O => VB column | S O => VB row | S (S j) => VB (shift + j) end.
Definition row_of : nat -> vl := entry_at 2 0 3.
Definition column_of : nat -> vl := entry_at 0 1 3.
Definition flipped : nat -> vl := entry_at 0 1 2.
Definition zero := Num 0 1.
Definition one_ := Num 1 1.
Inductive axiom_name :=
  | AxInverse | AxSinAdd | AxCosAdd | AxPythagoras | AxCosOne | AxMaxRight
  | AxMaxLeft | AxMinLeft | AxMinRight | AxAbsNonneg | AxAbsNonpos | AxLogProduct
  | AxLogTangent | AxExpIncreasing | AxFloorLower | AxFloorUpper | AxSinUpper | AxSinLower
  | AxPiIrrational | AxDetProduct | AxDetTranspose | AxDetIdentity.
Definition axiom (k : axiom_name) (ts : list tm) : option fm :=
  match k, ts with
  | AxInverse, [x] => Some (FImp (FNot (FEq x zero)) (FEq (Mul (Inv x) x) one_))
  | AxSinAdd, [a; b] =>
      Some (FEq (Fn Fsin (Add a b)) (Add (Mul (Fn Fsin a) (Fn Fcos b)) (Mul (Fn Fcos a) (Fn Fsin b))))
  | AxCosAdd, [a; b] =>
      Some (FEq (Fn Fcos (Add a b))
        (Add (Mul (Fn Fcos a) (Fn Fcos b)) (Opp (Mul (Fn Fsin a) (Fn Fsin b)))))
  | AxPythagoras, [a] => Some (FEq (Add (Pow (Fn Fsin a) 2) (Pow (Fn Fcos a) 2)) one_)
  | AxCosOne, [x] =>
      Some (FImp (FEq (Fn Fcos x) one_)
        (FEx (QNum KInt) zero (FEq (lift x) (Mul (Mul (Num 2 1) Pi) (Bound 0)))))
  | AxMaxRight, [a; b] => Some (FImp (FLe a b) (FEq (Max a b) b))
  | AxMaxLeft, [a; b] => Some (FImp (FLe b a) (FEq (Max a b) a))
  | AxMinLeft, [a; b] => Some (FImp (FLe a b) (FEq (Min a b) a))
  | AxMinRight, [a; b] => Some (FImp (FLe b a) (FEq (Min a b) b))
  | AxAbsNonneg, [x] => Some (FImp (FLe zero x) (FEq (Fn Fabs x) x))
  | AxAbsNonpos, [x] => Some (FImp (FLe x zero) (FEq (Fn Fabs x) (Opp x)))
  | AxLogProduct, [a; b] =>
      Some (FImp (FAnd (FLt zero a) (FLt zero b))
        (FEq (Fn Fln (Mul a b)) (Add (Fn Fln a) (Fn Fln b))))
  | AxLogTangent, [x] => Some (FImp (FLt zero x) (FLe (Fn Fln x) (Add x (Opp one_))))
  | AxExpIncreasing, [a; b] => Some (FImp (FLt a b) (FLt (Fn Fexp a) (Fn Fexp b)))
  | AxFloorLower, [x] => Some (FLe (Fn Ffloor x) x)
  | AxFloorUpper, [x] => Some (FLt x (Add (Fn Ffloor x) one_))
  | AxSinUpper, [x] => Some (FImp (FLe zero x) (FLe (Fn Fsin x) x))
  | AxSinLower, [x] =>
      Some (FImp (FLe zero x) (FLe (Add x (Opp (Mul (Pow x 3) (Inv (Num 6 1))))) (Fn Fsin x)))
  | AxPiIrrational, [m; n] =>
      Some (FImp (FAnd (FInt m) (FAnd (FInt n) (FEq m (Mul Pi n)))) (FEq n zero))
  | AxDetProduct, [n; a; b] =>
      Some (FEq (det_of n (TSum (lift (lift n)) (Mul (sub row_of a) (sub column_of b))))
        (Mul (det_of n a) (det_of n b)))
  | AxDetTranspose, [n; a] => Some (FEq (det_of n (sub flipped a)) (det_of n a))
  | AxDetIdentity, [n] => Some (FEq (det_of n (Delta (Bound 1) (Bound 0))) one_)
  | _, _ => None
  end.

(** *** Equal bodies *)
Fixpoint vec_pair (n b b' h h' : tm) : bool :=
  match h, h' with
  | Ap g a, Ap g' a' => teqb a a' && vec_pair n b b' g g'
  | ApV g m c, ApV g' m' c' =>
      teqb m m' &&
      (teqb g g' && teqb m n && teqb c b && teqb c' b' || teqb c c' && vec_pair n b b' g g')
  | _, _ => false
  end.
Definition bodies (n b b' t t' : tm) : bool :=
  match t, t' with
  | TSum m c, TSum m' c' | TProd m c, TProd m' c' =>
      teqb m n && teqb m' n && teqb c b && teqb c' b'
  | Val h, Val h' => vec_pair n b b' h h'
  | _, _ => false
  end.

Definition successor : nat -> vl :=
  fun k => match k with O => VS (Add (Bound 0) one_) | S j => VB (S j) end.
Definition block_position (n : tm) : nat -> vl :=
  fun k => match k with
  | O => VS (Add (Mul (Bound 1) (lift (lift n))) (Bound 0))
  | S j => VB (S (S j))
  end.
Definition column_position (k c : nat) : nat -> vl :=
  fun j => match j with
  | O => VS (Add (Mul (Bound 0) (Num (Z.of_nat k) 1)) (Num (Z.of_nat c) 1))
  | S i => VB (S i)
  end.

(** The part i of n conjoined (disjoined) formulas *)
Fixpoint part (conj : bool) (i n : nat) (p : fm) {struct n} : option fm :=
  match n with
  | O => None
  | S O => match i with O => Some p | _ => None end
  | S m =>
      match conj, p with
      | true, FAnd q r | false, FOr q r =>
          match i with O => Some q | S j => part conj j m r end
      | _, _ => None
      end
  end.
Fixpoint conjoin (ps : list fm) : fm :=
  match ps with [] => FTrue | [p] => p | p :: r => FAnd p (conjoin r) end.

Fixpoint cases (p : fm) (us : list thm) (q : fm) {struct us} : option (list fm) :=
  match us with
  | [] => None
  | [u] => if equal (snd u) q then Some (without p (fst u)) else None
  | u :: r =>
      match p with
      | FOr a b =>
          if equal (snd u) q
          then match cases b r q with
            | Some l => Some (union (without a (fst u)) l)
            | None => None
            end
          else None
      | _ => None
      end
  end.

(** ** The rules *)
Definition check (b : bool) (t : thm) : option thm := if b then Some t else None.
Definition r_assume (p : fm) : option thm := Some ([p], p).
Definition r_conj (ts : list thm) : option thm := Some (unions ts, conjoin (map snd ts)).
Definition r_conjunct (t : thm) (i n : nat) : option thm :=
  match part true i n (snd t) with Some p => Some (fst t, p) | None => None end.
Definition r_discharge (t : thm) (h : fm) : option thm := Some (without h (fst t), FImp h (snd t)).
Definition r_mp (i p : thm) : option thm :=
  match snd i with
  | FImp a b => check (equal a (snd p)) (union (fst i) (fst p), b)
  | _ => None
  end.
Definition mode_of (r : range) (n : tm) : mode :=
  match r with QNum k => MNum k n | QRan _ => MHead true | _ => MHead false end.
Definition r_generalise (t : thm) (r : range) (x : positive) (n : tm) : option thm :=
  check (forallb (flacks x) (fst t) && ffits (mode_of r n) x (snd t) && lacks x n && closed 0 n)
    (fst t, FAll r n (fbind x 0 (snd t))).
Definition r_specialise (q : thm) (fs : list thm) (v : vl) : option thm :=
  match snd q with
  | FAll r n p =>
      check (memberb (facts (map snd fs)) [] r n v)
        (union (fst q) (unions fs), at_value v p)
  | _ => None
  end.
Definition r_witness (p : thm) (fs : list thm) (goal : fm) (v : vl) : option thm :=
  match goal with
  | FEx r n q =>
      check (memberb (facts (map snd fs)) [] r n v && equal (at_value v q) (snd p))
        (union (fst p) (unions fs), goal)
  | _ => None
  end.
Definition name_of (r : range) (x : positive) (n : tm) : option vl :=
  match r with
  | QNum k => Some (VS (Free x k n))
  | QTen _ => Some (VH (HFree x false))
  | _ => None
  end.
Definition r_choose (some use : thm) (x : positive) : option thm :=
  match snd some with
  | FEx r n q =>
      match name_of r x n with
      | Some v =>
          let rest := without (finst v q) (fst use) in
          check (forallb (flacks x) rest && flacks x (snd use) && flacks x q && lacks x n
                 && closed 0 n)
            (union rest (fst some), snd use)
      | None => None
      end
  | _ => None
  end.
Definition r_cases (some : thm) (us : list thm) : option thm :=
  match us with
  | [] => None
  | u :: _ =>
      match cases (snd some) us (snd u) with
      | Some l => Some (union (fst some) l, snd u)
      | None => None
      end
  end.
Definition r_disjunct (p : thm) (goal : fm) (i n : nat) : option thm :=
  match part false i n goal with
  | Some q => check (equal q (snd p)) (fst p, goal)
  | None => None
  end.
Definition r_excluded (p : fm) : option thm := Some ([], FOr p (FNot p)).
Definition r_contradiction (p q : thm) (goal : fm) : option thm :=
  match snd q with
  | FNot r => check (equal r (snd p)) (union (fst p) (fst q), goal)
  | _ => None
  end.
Definition r_deny (p : thm) (h : fm) : option thm :=
  check (equal (snd p) (FNot h)) (without h (fst p), FNot h).
Definition r_not_implies (p q : thm) : option thm :=
  match snd q with
  | FNot r => Some (union (fst p) (fst q), FNot (FImp (snd p) r))
  | _ => None
  end.
Definition r_not_forall (p : thm) (fs : list thm) (goal : fm) (v : vl) : option thm :=
  match goal with
  | FNot (FAll r n q) =>
      check (memberb (facts (map snd fs)) [] r n v && equal (FNot (at_value v q)) (snd p))
        (union (fst p) (unions fs), goal)
  | _ => None
  end.
Definition r_not_conj (p : thm) (goal : fm) (i n : nat) : option thm :=
  match goal with
  | FNot g =>
      match part true i n g with
      | Some q => check (equal (FNot q) (snd p)) (fst p, goal)
      | None => None
      end
  | _ => None
  end.
Definition r_induction (base step : thm) : option thm :=
  match snd step with
  | FAll (QNum KNat) n (FImp p q) =>
      check (equal (finst (VS zero) p) (snd base) && (if feqb (fsub successor p) q then true else alike [CNat] (fsub successor p) q))
        (union (fst base) (fst step), FAll (QNum KNat) n p)
  | _ => None
  end.
Definition r_axiom (k : axiom_name) (ts : list tm) : option thm :=
  match axiom k ts with Some p => Some ([], p) | None => None end.
Definition r_combination (ps fs : list thm) (goal : fm) (is_ : list item) : option thm :=
  check (combination (map snd ps) (map snd fs) goal is_) (union (unions ps) (unions fs), goal).
Definition r_order (ps fs : list thm) (goal : fm) (is_ : list item) : option thm :=
  check (order (map snd ps) (map snd fs) goal is_) (union (unions ps) (unions fs), goal).
Definition r_antisymmetry (p q : thm) : option thm :=
  match snd p, snd q with
  | FLe a b, FLe b' a' =>
      check (same nothing [] a a' && same nothing [] b b') (union (fst p) (fst q), FEq a b)
  | _, _ => None
  end.
Definition r_dichotomy (a b : tm) : option thm := Some ([], FOr (FLe a b) (FLt b a)).
Definition r_apart (p : thm) : option thm :=
  match snd p with FLt a b => Some (fst p, FNot (FEq a b)) | _ => None end.
Definition r_not_le (p : thm) : option thm :=
  match snd p with FLt a b => Some (fst p, FNot (FLe b a)) | _ => None end.
Definition r_gap (p : thm) (fs : list thm) : option thm :=
  match snd p with
  | FLt a b =>
      let K := facts (map snd fs) in
      check (intp K [] (pf K [] a) && intp K [] (pf K [] b))
        (union (fst p) (unions fs), FLe (Add a one_) b)
  | _ => None
  end.
Definition r_integer (fs : list thm) (t : tm) : option thm :=
  let K := facts (map snd fs) in check (intp K [] (pf K [] t)) (unions fs, FInt t).
Definition r_leibniz (e p : thm) (q : fm) : option thm :=
  match snd e with
  | FEq a b =>
      check (still a && still b && equal (finst (VS a) q) (snd p))
        (union (fst e) (fst p), finst (VS b) q)
  | _ => None
  end.
Definition r_extensionality (p : thm) (t t' : tm) : option thm :=
  match snd p with
  | FAll (QNum KFin) n (FAll (QNum KFin) m (FEq b b')) =>
      check (teqb m (lift n) && teqb t (det_of n b) && teqb t' (det_of n b')) (fst p, FEq t t')
  | FAll (QNum KFin) n (FEq b b') => check (bodies n b b' t t') (fst p, FEq t t')
  | _ => None
  end.
Definition r_unroll (fs : list thm) (product : bool) (n b : tm) : option thm :=
  let K := facts (map snd fs) in
  let at_n := inst (VS n) b in
  check (still n && natural K (nf K) [] n)
    (unions fs,
     if product then FEq (TProd (Add n one_) b) (Mul (TProd n b) at_n)
     else FEq (TSum (Add n one_) b) (Add (TSum n b) at_n)).
Definition r_block_sum (fs : list thm) (m n b : tm) : option thm :=
  let K := facts (map snd fs) in
  check (still n && natural K (nf K) [] m && natural K (nf K) [] n)
    (unions fs, FEq (TSum (Mul m n) b) (TSum m (TSum (lift n) (sub (block_position n) b)))).
Fixpoint columns (rows : tm) (q : fm) (k c : nat) (ps : list fm) : bool :=
  match ps with
  | [] => Nat.eqb c k
  | p :: r => equal p (FAll (QNum KFin) rows (fsub (column_position k c) q)) && columns rows q k (S c) r
  end.
Definition r_block_forall (ps : list thm) (goal : fm) (k : nat) : option thm :=
  match goal with
  | FAll (QNum KFin) (Mul rows (Num z 1)) q =>
      check (Z.eqb z (Z.of_nat k) && Nat.ltb 0 k && natural nothing (nf nothing) [] rows
             && columns rows q k 0 (map snd ps))
        (unions ps, goal)
  | _ => None
  end.
Fixpoint instances (q : fm) (k : nat) (ps : list fm) : bool :=
  match ps with
  | [] => true
  | p :: r => equal p (finst (VS (Num (Z.of_nat k) 1)) q) && instances q (S k) r
  end.
Definition r_finite (ps : list thm) (goal : fm) : option thm :=
  match goal with
  | FAll (QNum KFin) n q =>
      match small (pf nothing [] n) with
      | Some k => check (Nat.eqb k (length ps) && instances q 0 (map snd ps)) (unions ps, goal)
      | None => None
      end
  | _ => None
  end.
Definition decided (f : nat) (K : known) (goal : fm) : bool :=
  match evaluate f K goal with Some b => b | None => false end.
Definition r_decide (f : nat) (fs : list thm) (goal : fm) : option thm :=
  check (decided f (facts (map snd fs)) goal) (unions fs, goal).
(** A formula in another form *)
