(** Proof logs as text, and their replay.

    A text is a list of numbers: each node of a term or formula once for all logs in it, and each
    step, with references that count back from the latest.  What is read need not be believed: a
    theorem is made by a rule. *)
Require Import ZArith NArith QArith Bool Lra FunctionalExtensionality Classical.
Require Import Coq.Init.Byte Coq.Strings.Byte.
From Derive Require Import Prelude Sums Terms Poly Signs Normal NormalOk Rules RulesOk
  Derivative DerivativeOk.
Close Scope Q_scope.
Open Scope R_scope.

Inductive blob := Blob (l : list byte).
Definition unblob (b : blob) : list byte := match b with Blob l => l end.
Declare Scope blob_scope.
Delimit Scope blob_scope with blob.
String Notation blob Blob unblob : blob_scope.
Bind Scope blob_scope with blob.

Fixpoint numbers (l : list byte) (high : N) : list N :=
  match l with
  | [] => []
  | b :: r =>
      let c := (Byte.to_N b - 35)%N in
      if (c <? 80)%N then (high * 80 + c)%N :: numbers r 0 else numbers r (high * 12 + (c - 80))
  end.

Inductive node := NTerm (t : tm) | NFormula (p : fm).
Inductive tree := Leaf | Branch (o : option node) (l r : tree).
Fixpoint look (x : positive) (t : tree) : option node :=
  match t with
  | Leaf => None
  | Branch o l r => match x with xH => o | xO y => look y l | xI y => look y r end
  end.
Fixpoint set (x : positive) (n : node) (t : tree) : tree :=
  let '(o, l, r) := match t with Leaf => (None, Leaf, Leaf) | Branch o l r => (o, l, r) end in
  match x with
  | xH => Branch (Some n) l r
  | xO y => Branch o (set y n l) r
  | xI y => Branch o l (set y n r)
  end.

(** [theorems] are those of the log that is read, [failed] says that a step of it was refused, and
    [said] is what the logs before it have shown, the latest first. *)
Record state := {
  nodes : tree; count : positive; theorems : list thm; failed : bool; said : list (option fm) }.
Definition reader (A : Type) := state -> list N -> option (A * list N).
Definition ret {A} (a : A) : reader A := fun _ l => Some (a, l).
Definition bind {A B} (m : reader A) (f : A -> reader B) : reader B :=
  fun s l => match m s l with Some (a, r) => f a s r | None => None end.
Notation "'do' x <- m ; f" := (bind m (fun x => f)) (at level 100, x name, f at level 200).
Definition number_ : reader N := fun _ l => match l with x :: r => Some (x, r) | [] => None end.
Definition nat_ : reader nat := do x <- number_; ret (N.to_nat x).
Definition pos_ : reader positive := do x <- number_; ret (N.succ_pos x).
Definition lift_option {A} (o : option A) : reader A :=
  fun _ l => match o with Some a => Some (a, l) | None => None end.
Definition node_ : reader node :=
  fun s l => match l with
  | x :: r =>
      match (Npos (count s) - 1 - x)%N with
      | Npos p => match look p (nodes s) with Some n => Some (n, r) | None => None end
      | N0 => None
      end
  | [] => None
  end.
Definition t_ : reader tm :=
  do n <- node_; match n with NTerm t => ret t | _ => lift_option None end.
Definition f_ : reader fm :=
  do n <- node_; match n with NFormula p => ret p | _ => lift_option None end.
Definition h_ : reader thm :=
  fun s l => match l with
  | x :: r =>
      match nth_error (theorems s) (N.to_nat x) with Some t => Some (t, r) | None => None end
  | [] => None
  end.
Fixpoint times {A} (k : nat) (m : reader A) : reader (list A) :=
  match k with O => ret [] | S j => do a <- m; do r <- times j m; ret (a :: r) end.
Definition list_ {A} (m : reader A) : reader (list A) := do k <- nat_; times k m.
Definition z_ : reader Z :=
  do s <- number_; do x <- number_; ret (if (s =? 0)%N then Z.of_N x else (- Z.of_N x)%Z).
Definition vl_ : reader vl := do k <- number_; do t <- t_; ret (if (k =? 0)%N then VS t else VH t).
Definition item_ : reader item :=
  do us <- list_ (do k <- nat_; do vs <- list_ vl_; ret (k, vs));
  do c <- t_; do ns <- list_ t_; ret {| uses := us; cofactor := c; sizes := ns |}.
(** One item for each premise, without values and indices *)
Fixpoint plain (k : nat) (cs : list tm) : list item :=
  match cs with
  | [] => []
  | c :: r => {| uses := [(k, [])]; cofactor := c; sizes := [] |} :: plain (S k) r
  end.
Definition kind_ : reader kind :=
  do k <- nat_; lift_option (nth_error [KReal; KInt; KNat; KDim; KFin] k).
Definition fname_ : reader fname :=
  do k <- nat_; lift_option (nth_error [Fsin; Fcos; Fexp; Fln; Fsqrt; Fabs; Ffloor] k).
Definition range_ : reader range :=
  do k <- number_; do x <- nat_;
  match k with
  | 0%N => lift_option (option_map QNum (nth_error [KReal; KInt; KNat; KDim; KFin] x))
  | 1%N => ret (QTen x)
  | 2%N => ret (QFun x)
  | _ => ret (QRan x)
  end.
Definition axiom_ : reader axiom_name :=
  do k <- nat_;
  lift_option (nth_error [AxInverse; AxSinAdd; AxCosAdd; AxPythagoras; AxCosOne; AxMaxRight;
    AxMaxLeft; AxMinLeft; AxMinRight; AxAbsNonneg; AxAbsNonpos; AxLogProduct; AxLogTangent;
    AxExpIncreasing; AxFloorLower; AxFloorUpper; AxSinUpper;
    AxSinLower; AxPiIrrational; AxDetProduct; AxDetTranspose; AxDetIdentity] k).

Definition term_node (op : N) : reader tm :=
  match op with
  | 0%N => do p <- z_; do q <- pos_; ret (Num p q)
  | 1%N => ret Pi
  | 2%N => do x <- pos_; do k <- kind_; do n <- t_; ret (Free x k n)
  | 3%N => do i <- nat_; ret (Bound i)
  | 4%N => do a <- t_; do b <- t_; ret (Add a b)
  | 5%N => do a <- t_; do b <- t_; ret (Mul a b)
  | 6%N => do a <- t_; ret (Opp a)
  | 7%N => do a <- t_; ret (Inv a)
  | 8%N => do a <- t_; do k <- nat_; ret (Pow a k)
  | 9%N => do f <- fname_; do a <- t_; ret (Fn f a)
  | 10%N => do a <- t_; do b <- t_; ret (Max a b)
  | 11%N => do a <- t_; do b <- t_; ret (Min a b)
  | 12%N => do a <- t_; do b <- t_; ret (RPow a b)
  | 13%N => do a <- t_; do b <- t_; ret (Delta a b)
  | 14%N => do a <- t_; do b <- t_; ret (TSum a b)
  | 15%N => do a <- t_; do b <- t_; ret (TProd a b)
  | 16%N => do a <- t_; ret (Exp_ a)
  | 17%N => do a <- t_; ret (Val a)
  | 18%N => do x <- pos_; do r <- number_; ret (HFree x (negb (r =? 0)%N))
  | 19%N => do i <- nat_; ret (HBound i)
  | 20%N => do a <- t_; do b <- t_; ret (Ap a b)
  | 21%N => do h <- t_; do n <- t_; do b <- t_; ret (ApV h n b)
  | 22%N => do a <- t_; ret (Lam a)
  | 23%N => do n <- t_; do h <- t_; ret (TDet n h)
  | _ => fun _ _ => None
  end.
Definition formula_node (op : N) : reader fm :=
  match op with
  | 30%N => do a <- t_; do b <- t_; ret (FEq a b)
  | 31%N => do a <- t_; do b <- t_; ret (FLe a b)
  | 32%N => do a <- t_; do b <- t_; ret (FLt a b)
  | 33%N => do a <- t_; ret (FInt a)
  | 34%N => ret FTrue
  | 35%N => ret FFalse
  | 36%N => do p <- f_; do q <- f_; ret (FAnd p q)
  | 37%N => do p <- f_; do q <- f_; ret (FOr p q)
  | 38%N => do p <- f_; ret (FNot p)
  | 39%N => do p <- f_; do q <- f_; ret (FImp p q)
  | 40%N => do r <- range_; do n <- t_; do p <- f_; ret (FAll r n p)
  | 41%N => do r <- range_; do n <- t_; do p <- f_; ret (FEx r n p)
  | 42%N => do n <- t_; do f <- t_; do p <- t_; do v <- t_; ret (FGrad1 n f p v)
  | 43%N => do n <- t_; do m <- t_; do f <- t_; do p <- t_; do v <- t_; ret (FGrad2 n m f p v)
  | 44%N =>
      do n <- t_; do m <- t_; do k <- t_; do f <- t_; do p <- t_; do v <- t_;
      ret (FGrad3 n m k f p v)
  | 45%N =>
      do n <- t_; do m <- t_; do k <- t_; do o <- t_; do f <- t_; do p <- t_; do v <- t_;
      ret (FGrad4 n m k o f p v)
  | _ => fun _ _ => None
  end.
(** Generalise by free names, the first one first: numbers, tensors with k indices, functions. *)
Definition close_one (t : thm) (v : tm) (k : nat) : option thm :=
  match v with
  | Free x kind n => r_generalise t (QNum kind) x n
  | HFree x true => r_generalise t (QRan k) x zero
  | HFree x false =>
      r_generalise t (if Nat.odd k then QFun (Nat.div2 k) else QTen (Nat.div2 k)) x zero
  | _ => None
  end.
Fixpoint close (t : thm) (vs : list (tm * nat)) : option thm :=
  match vs with
  | [] => Some t
  | (v, k) :: r => match close_one t v k with Some u => close u r | None => None end
  end.

Definition rule (op : N) : reader (option thm) :=
  match op with
  | 50%N => do p <- f_; ret (r_assume p)
  | 51%N => do ts <- list_ h_; ret (r_conj ts)
  | 52%N => do t <- h_; do i <- nat_; do n <- nat_; ret (r_conjunct t i n)
  | 53%N => do t <- h_; do p <- f_; ret (r_discharge t p)
  | 54%N => do i <- h_; do p <- h_; ret (r_mp i p)
  | 55%N => do t <- h_; do r <- range_; do x <- pos_; do n <- t_; ret (r_generalise t r x n)
  | 56%N => do q <- h_; do fs <- list_ h_; do v <- vl_; ret (r_specialise q fs v)
  | 57%N => do p <- h_; do fs <- list_ h_; do g <- f_; do v <- vl_; ret (r_witness p fs g v)
  | 58%N => do s <- h_; do u <- h_; do x <- pos_; ret (r_choose s u x)
  | 59%N => do s <- h_; do us <- list_ h_; ret (r_cases s us)
  | 60%N => do p <- h_; do g <- f_; do i <- nat_; do n <- nat_; ret (r_disjunct p g i n)
  | 61%N => do p <- f_; ret (r_excluded p)
  | 62%N => do p <- h_; do q <- h_; do g <- f_; ret (r_contradiction p q g)
  | 63%N => do p <- h_; do h <- f_; ret (r_deny p h)
  | 64%N => do p <- h_; do q <- h_; ret (r_not_implies p q)
  | 65%N => do p <- h_; do fs <- list_ h_; do g <- f_; do v <- vl_; ret (r_not_forall p fs g v)
  | 66%N => do p <- h_; do g <- f_; do i <- nat_; do n <- nat_; ret (r_not_conj p g i n)
  | 67%N => do b <- h_; do s <- h_; ret (r_induction b s)
  | 68%N => do a <- axiom_; do ts <- list_ t_; ret (r_axiom a ts)
  | 69%N =>
      do ps <- list_ h_; do fs <- list_ h_; do g <- f_; do is_ <- list_ item_;
      ret (r_combination ps fs g is_)
  | 70%N =>
      do ps <- list_ h_; do fs <- list_ h_; do g <- f_; do is_ <- list_ item_;
      ret (r_order ps fs g is_)
  | 71%N => do p <- h_; do q <- h_; ret (r_antisymmetry p q)
  | 72%N => do a <- t_; do b <- t_; ret (r_dichotomy a b)
  | 73%N => do p <- h_; ret (r_apart p)
  | 74%N => do p <- h_; ret (r_not_le p)
  | 75%N => do p <- h_; do fs <- list_ h_; ret (r_gap p fs)
  | 76%N => do fs <- list_ h_; do t <- t_; ret (r_integer fs t)
  | 77%N => do e <- h_; do p <- h_; do q <- f_; ret (r_leibniz e p q)
  | 78%N => do p <- h_; do t <- t_; do t' <- t_; ret (r_extensionality p t t')
  | 79%N =>
      do fs <- list_ h_; do k <- number_; do n <- t_; do b <- t_;
      ret (r_unroll fs (negb (k =? 0)%N) n b)
  | 80%N => do fs <- list_ h_; do m <- t_; do n <- t_; do b <- t_; ret (r_block_sum fs m n b)
  | 81%N => do ps <- list_ h_; do g <- f_; do k <- nat_; ret (r_block_forall ps g k)
  | 82%N => do ps <- list_ h_; do g <- f_; ret (r_finite ps g)
  | 83%N => do fs <- list_ h_; do g <- f_; ret (r_decide 20 fs g)
  | 84%N => do p <- h_; do g <- f_; ret (r_restate p g)
  | 85%N => do ps <- list_ h_; do g <- f_; ret (r_derivative ps g)
  | 86%N => do p <- h_; do q <- h_; do g <- f_; ret (r_gradient_value p q g)
  | 87%N => do p <- h_; do q <- h_; do g <- f_; ret (r_gradient_function p q g)
  | 88%N => do p <- h_; do q <- h_; ret (r_gradient_unique p q)
  | 47%N => do t <- h_; do vs <- list_ (do v <- t_; do k <- nat_; ret (v, k)); ret (close t vs)
  | 48%N =>
      do ps <- list_ h_; do g <- f_; do cs <- list_ t_; ret (r_combination ps [] g (plain 0 cs))
  | 49%N => do ps <- list_ h_; do g <- f_; do cs <- list_ t_; ret (r_order ps [] g (plain 0 cs))
  | _ => fun _ _ => None
  end.

Definition with_node (n : node) (s : state) : state :=
  {| nodes := set (count s) n (nodes s); count := Pos.succ (count s); theorems := theorems s;
     failed := failed s; said := said s |}.
(** In the place of a theorem that was refused *)
Definition nothing_said : thm := ([], FTrue).
Definition with_theorem (o : option thm) (s : state) : state :=
  {| nodes := nodes s; count := count s;
     theorems := match o with Some t => t | None => nothing_said end :: theorems s;
     failed := match o with Some _ => failed s | None => true end; said := said s |}.
(** The last theorem of a log, if all steps were made and it has no hypotheses *)
Definition conclusion (s : state) : option fm :=
  match failed s, theorems s with false, ([], p) :: _ => Some p | _, _ => None end.
Definition with_end (s : state) : state :=
  {| nodes := nodes s; count := count s; theorems := []; failed := false;
     said := conclusion s :: said s |}.

Definition step (op : N) (s : state) (l : list N) : option (state * list N) :=
  if (op <? 30)%N then
    match term_node op s l with Some (t, r) => Some (with_node (NTerm t) s, r) | None => None end
  else if (op <? 46)%N then
    match formula_node op s l with
    | Some (p, r) => Some (with_node (NFormula p) s, r)
    | None => None
    end
  else if (op =? 46)%N then Some (with_end s, l)
  else match rule op s l with Some (o, r) => Some (with_theorem o s, r) | None => None end.

(** The state after the last step, or where it stopped *)
Fixpoint steps (fuel : list N) (s : state) (l : list N) : state * list N :=
  match fuel, l with
  | _ :: f, op :: r =>
      match step op s r with Some (s', r') => steps f s' r' | None => (s, l) end
  | _, _ => (s, l)
  end.
Definition start : state :=
  {| nodes := Leaf; count := 1; theorems := []; failed := false; said := [] |}.
(** What each log has shown *)
Definition text_of (bs : list blob) : list N := numbers (flat_map unblob bs) 0.
Definition replay (bs : list blob) : list (option fm) :=
  let l := text_of bs in rev (said (fst (steps l start l))).
Definition shown (l : list (option fm)) : list bool :=
  map (fun o => match o with Some _ => true | None => false end) l.

(** ** Soundness *)
Section Sound.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega).
Hypothesis HE : expectation E.
Notation valid := (RulesOk.valid E w0).

Definition sound (s : state) : Prop :=
  Forall valid (theorems s) /\ forall p fe, In (Some p) (said s) -> holds E w0 fe p e0.

Lemma h_valid : forall s l t r, Forall valid (theorems s) -> h_ s l = Some (t, r) -> valid t.
Proof.
  intros s l t r V H. unfold h_ in H. destruct l as [|x l]; [discriminate|].
  destruct (nth_error (theorems s) (N.to_nat x)) eqn:Q; [|discriminate]. injection H as <- <-.
  apply nth_error_In in Q. rewrite Forall_forall in V. auto.
Qed.
Lemma list_valid : forall s l ts r, Forall valid (theorems s) -> list_ h_ s l = Some (ts, r) ->
  Forall valid ts.
Proof.
  intros s l ts r V H. unfold list_, bind in H. destruct (nat_ s l) as [[k l']|]; [|discriminate].
  revert l' ts r H. induction k as [|k IH]; intros l' ts r H; cbn [times] in H.
  - unfold ret in H. injection H as <- <-. constructor.
  - unfold bind in H. destruct (h_ s l') as [[t l1]|] eqn:Ht; [|discriminate].
    destruct (times k h_ s l1) as [[ts' l2]|] eqn:Hs; [|discriminate].
    unfold ret in H. injection H as <- <-. constructor; [now apply (h_valid s l' t l1)|].
    now apply (IH l1 ts' l2).
Qed.

Lemma close_ok : forall vs t u, valid t -> close t vs = Some u -> valid u.
Proof.
  induction vs as [|[v k] vs IH]; intros t u V H; cbn [close] in H; [now injection H as <-|].
  destruct (close_one t v k) as [t'|] eqn:Q; [|discriminate]. apply (IH t' u); [|exact H].
  unfold close_one in Q. destruct v; try discriminate Q; try (destruct random);
    eapply generalise_ok; eassumption.
Qed.

Ltac parse H :=
  repeat match type of H with
  | context [match ?m with _ => _ end] =>
      let a := fresh "a" in let r := fresh "r" in let Q := fresh "Q" in
      destruct m as [[a r]|] eqn:Q; [|discriminate]
  end.

Tactic Notation "by_rule" uconstr(L) := solve [eapply L; [.. | eassumption]; eassumption].

Lemma rule_valid : forall op s l t r, Forall valid (theorems s) ->
  rule op s l = Some (Some t, r) -> valid t.
Proof.
  intros op s l t r V H. assert (Forall valid []) as None_ by constructor. unfold rule in H.
  repeat match type of H with
  | (match ?x with _ => _ end) _ _ = _ => destruct x; try discriminate H
  end;
  unfold bind, ret in H; parse H;
  apply (f_equal (fun o : option (option thm * list N) =>
    match o with Some (x, _) => x | None => None end)) in H; cbv beta iota in H;
  repeat match goal with
  | Q : h_ s _ = Some (?t, _) |- _ => apply (h_valid s) in Q; [|exact V]
  | Q : list_ h_ s _ = Some (?t, _) |- _ => apply (list_valid s) in Q; [|exact V]
  end;
  first
  [ by_rule close_ok | by_rule assume_ok | by_rule conj_ok | by_rule conjunct_ok | by_rule discharge_ok
  | by_rule mp_ok | by_rule generalise_ok | by_rule specialise_ok | by_rule witness_ok
  | by_rule choose_ok | by_rule r_cases_ok | by_rule disjunct_ok | by_rule excluded_ok
  | by_rule contradiction_ok | by_rule deny_ok | by_rule not_implies_ok | by_rule not_forall_ok
  | by_rule not_conj_ok | by_rule induction_ok | by_rule axiom_ok | by_rule r_combination_ok
  | by_rule r_order_ok | by_rule antisymmetry_ok | by_rule dichotomy_ok | by_rule apart_ok
  | by_rule not_le_ok | by_rule gap_ok | by_rule integer_ok | by_rule leibniz_ok
  | by_rule extensionality_ok | by_rule unroll_rule_ok | by_rule block_sum_ok
  | by_rule block_forall_ok | by_rule finite_ok | by_rule decide_ok | by_rule restate_ok
  | by_rule derivative_ok | by_rule gradient_value_ok | by_rule gradient_function_ok
  | by_rule gradient_unique_ok ].
Qed.

Lemma step_sound : forall op s l s' r, sound s -> step op s l = Some (s', r) -> sound s'.
Proof.
  intros op s l s' r [V S] H. unfold step in H.
  destruct (op <? 30)%N; [|destruct (op <? 46)%N; [|destruct (op =? 46)%N]].
  - destruct (term_node op s l) as [[t r']|]; [|discriminate]. injection H as <- _. now split.
  - destruct (formula_node op s l) as [[t r']|]; [|discriminate]. injection H as <- _. now split.
  - injection H as <- _. split; [constructor|]. intros p fe [Q|Q]; [|now apply S].
    unfold conclusion in Q. destruct (failed s); [discriminate|].
    destruct (theorems s) as [|[[|h hs] q] ts]; try discriminate. injection Q as ->.
    inversion V as [|? ? Vq]; subst. apply Vq. intros h I. contradiction.
  - destruct (rule op s l) as [[o r']|] eqn:Q; [|discriminate]. injection H as <- _.
    split; [|exact S]. constructor; [|exact V]. destruct o as [t|].
    + exact (rule_valid op s l t r' V Q).
    + intros fe _. exact Logic.I.
Qed.

Lemma steps_sound : forall f s l, sound s -> sound (fst (steps f s l)).
Proof.
  induction f as [|x f IH]; intros s l V; [exact V|]. cbn [steps].
  destruct l as [|op r]; [exact V|]. destruct (step op s r) as [[s' r']|] eqn:Q; [|exact V].
  apply IH. exact (step_sound op s r s' r' V Q).
Qed.

(** What the log k has shown; nothing if there is no such log, or a step of it was refused *)
Definition says (l : list (option fm)) (k : nat) : fm :=
  match nth_error l k with Some (Some p) => p | _ => FTrue end.
Lemma replay_ok : forall b l k fe, replay b = l -> holds E w0 fe (says l k) e0.
Proof.
  intros b l k fe <-. unfold says. destruct (nth_error (replay b) k) as [[p|]|] eqn:Q;
    [|exact Logic.I..].
  apply nth_error_In, in_rev in Q.
  apply (steps_sound (text_of b) start (text_of b)); [|exact Q].
  split; [constructor|]. intros q fe' [].
Qed.
End Sound.

(** ** What a replayed log says *)
Definition nothing_free {Omega : Type} : positive -> @val Omega := fun _ _ _ => 0.
(** Of a statement without expectations *)
Definition truth (p : fm) : Prop := holds (fun X : unit -> R => X tt) tt nothing_free p e0.
(** Of a statement with an expectation *)
Definition truth_of_means (p : fm) : Prop :=
  forall (Omega : Type) (E : (Omega -> R) -> R), expectation E ->
  forall w : Omega, holds E w nothing_free p e0.

Lemma truth_ok : forall b l, replay b = l -> forall k, truth (says l k).
Proof.
  intros b l H k. apply (replay_ok (fun X : unit -> R => X tt) tt) with (b := b); [|exact H].
  split; [reflexivity|reflexivity].
Qed.
Lemma means_ok : forall b l, replay b = l -> forall k, truth_of_means (says l k).
Proof. intros b l H k Omega E HE w. now apply (replay_ok E w HE b). Qed.
Lemma outcome : forall (Omega : Type) (E : (Omega -> R) -> R), expectation E -> exists w : Omega, True.
Proof.
  intros Omega E [L One]. apply Classical_Prop.NNPP. intros N.
  assert (E (fun _ => 1) = E (fun _ => 2)) as H.
  { f_equal. apply FunctionalExtensionality.functional_extensionality. intros w. destruct N.
    now exists w. }
  pose proof (L 1 (fun _ => 1) (fun _ => 1)) as P. rewrite One in *.
  assert (E (fun _ => 1 * 1 + 1) = 1) as Q; [|rewrite Q in P; Lra.lra].
  rewrite <- One. f_equal. apply FunctionalExtensionality.functional_extensionality. intros w.
  destruct N. now exists w.
Qed.

(** Of a statement with an expectation, which gives an outcome to read the rest at *)
Ltac of_means r k :=
  match goal with |- _ /\ _ => split | _ => idtac end;
  let Omega := fresh in let E := fresh in let HE := fresh in let w := fresh in let H := fresh in
  intros Omega E HE; destruct (outcome Omega E HE) as [w _];
  pose proof (means_ok _ _ r k Omega E HE w) as H; hnf in H;
  first [exact H | exact (proj1 H) | exact (proj2 H)].
