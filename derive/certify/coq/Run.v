(** The replay of proof logs.

    A text is a list of numbers: the free symbols of all logs in it and the steps, and behind them
    the terms and formulas, operation first.  References count back from the latest.  What is read
    need not be believed: a theorem is made by a rule. *)
Require Import ZArith NArith QArith Bool Lra FunctionalExtensionality Classical.
From Derive Require Import Prelude Sums Terms Poly Signs Normal NormalOk Rules RulesOk
  Derivative DerivativeOk.
Close Scope Q_scope.
Open Scope R_scope.

(** A free symbol: a variable, or a head with the number of its indices, which may take a vector *)
Inductive atom := AVar (t : tm) | AHead (h : tm) (indices : nat) (vector : bool).
Inductive node := NTerm (t : tm) | NFormula (p : fm).
Inductive tree := Leaf | Branch (o : option atom) (l r : tree).
Fixpoint look (x : positive) (t : tree) : option atom :=
  match t with
  | Leaf => None
  | Branch o l r => match x with xH => o | xO y => look y l | xI y => look y r end
  end.
Fixpoint set (x : positive) (n : atom) (t : tree) : tree :=
  let '(o, l, r) := match t with Leaf => (None, Leaf, Leaf) | Branch o l r => (o, l, r) end in
  match x with
  | xH => Branch (Some n) l r
  | xO y => Branch o (set y n l) r
  | xI y => Branch o l (set y n r)
  end.

(** [theorems] are those of the log that is read, [failed] says that a step of it was refused, and
    [said] is what the logs before it have shown, the latest first. *)
Record state := { atoms : tree; theorems : list thm; failed : bool; said : list (option fm) }.
(** What is still to be read of the steps and of the terms, and the nodes of this log that were
    marked, the latest first *)
Definition input : Type := list N * list N * list node.
Definition reader (A : Type) := state -> input -> option (A * input).
Definition ret {A} (a : A) : reader A := fun _ i => Some (a, i).
Definition bind {A B} (m : reader A) (f : A -> reader B) : reader B :=
  fun s i => match m s i with Some (a, r) => f a s r | None => None end.
Notation "'do' x <- m ; f" := (bind m (fun x => f)) (at level 100, x name, f at level 200).
Definition number_ : reader N :=
  fun _ i => match i with (x :: r, t, k) => Some (x, (r, t, k)) | _ => None end.
Definition of_term_ : reader N :=
  fun _ i => match i with (l, x :: r, k) => Some (x, (l, r, k)) | _ => None end.
Definition nat_ : reader nat := do x <- number_; ret (N.to_nat x).
Definition lift_option {A} (o : option A) : reader A :=
  fun _ i => match o with Some a => Some (a, i) | None => None end.
Definition h_ : reader thm :=
  do x <- number_; fun s => lift_option (nth_error (theorems s) (N.to_nat x)) s.
Definition marked_ : reader node :=
  do x <- nat_; fun s i => lift_option (nth_error (snd i) x) s i.
Definition mark (n : node) : reader unit := fun _ i => Some (tt, (fst i, n :: snd i)).
Definition atom_at (x : N) : reader atom := fun s => lift_option (look (N.succ_pos x) (atoms s)) s.
Definition atom_ : reader atom := do x <- number_; atom_at x.
Fixpoint times {A} (k : nat) (m : reader A) : reader (list A) :=
  match k with O => ret [] | S j => do a <- m; do r <- times j m; ret (a :: r) end.
Definition list_ {A} (m : reader A) : reader (list A) := do k <- nat_; times k m.
Definition nat_of_term_ : reader nat := do x <- of_term_; ret (N.to_nat x).
Definition z_ : reader Z :=
  do s <- of_term_; do x <- of_term_; ret (if (s =? 0)%N then Z.of_N x else (- Z.of_N x)%Z).
Definition kind_ : reader kind :=
  do k <- nat_of_term_; lift_option (nth_error [KReal; KInt; KNat; KDim; KFin] k).
Definition fname_ : reader fname :=
  do k <- nat_of_term_; lift_option (nth_error [Fsin; Fcos; Fexp; Fln; Fsqrt; Fabs; Ffloor] k).
Definition range_ : reader range :=
  do k <- of_term_;
  match k with
  | 0%N => do x <- kind_; ret (QNum x)
  | 1%N => do x <- nat_of_term_; ret (QTen x)
  | 2%N => do x <- nat_of_term_; ret (QFun x)
  | _ => do x <- nat_of_term_; ret (QRan x)
  end.

(** Terms and formulas, to a limited depth *)
Fixpoint term (depth : nat) : reader tm :=
  match depth with
  | O => lift_option None
  | S d =>
      let t_ := term d in
      let one c := do a <- t_; ret (c a) in
      let two c := do a <- t_; do b <- t_; ret (c a b) in
      do op <- of_term_;
      match op with
      | 0%N => do p <- z_; do q <- of_term_; ret (Num p (N.succ_pos q))
      | 1%N => ret Pi
      | 3%N => do i <- nat_of_term_; ret (Bound i)
      | 4%N => two Add
      | 5%N => two Mul
      | 6%N => one Opp
      | 7%N => one Inv
      | 8%N => do k <- nat_of_term_; do a <- t_; ret (Pow a k)
      | 9%N => do f <- fname_; one (Fn f)
      | 10%N => two Max
      | 11%N => two Min
      | 12%N => two RPow
      | 13%N => two Delta
      | 14%N => two TSum
      | 15%N => two TProd
      | 16%N => one Exp_
      | 17%N => one Val
      | 18%N => do x <- of_term_; do a <- atom_at x; lift_option (match a with AHead h _ _ => Some h | _ => None end)
      | 19%N => do i <- nat_of_term_; ret (HBound i)
      | 20%N => two Ap
      | 21%N => do h <- t_; two (ApV h)
      | 22%N => one Lam
      | 23%N => two TDet
      | 24%N => do n <- marked_; lift_option (match n with NTerm t => Some t | _ => None end)
      | 25%N => do t <- t_; do _ <- mark (NTerm t); ret t
      | _ =>
          if (op <? 34)%N then ret (Bound (N.to_nat (op - 26)))
          else if (op <? 46)%N then ret (Num (Z.of_N op - 36) 1)
          else
            do a <- atom_at (op - 46);
            match a with
            | AVar t => ret t
            | AHead h k v =>
                do l <- times k t_;
                let applied := fold_left Ap l h in
                if v then two (fun n b => Val (ApV applied n b)) else ret (Val applied)
            end
      end
  end.
Definition deepest : nat := Eval compute in Nat.mul 20 50.
Definition t_ : reader tm := term deepest.
Fixpoint formula (depth : nat) : reader fm :=
  match depth with
  | O => lift_option None
  | S d =>
      let f_ := formula d in
      let two c := do a <- f_; do b <- f_; ret (c a b) in
      let terms c := do a <- t_; do b <- t_; ret (c a b) in
      do op <- of_term_;
      match op with
      | 0%N => terms FEq
      | 1%N => terms FLe
      | 2%N => terms FLt
      | 3%N => do a <- t_; ret (FInt a)
      | 4%N => ret FTrue
      | 5%N => ret FFalse
      | 6%N => two FAnd
      | 7%N => two FOr
      | 8%N => do p <- f_; ret (FNot p)
      | 9%N => two FImp
      | 10%N => do r <- range_; do n <- t_; do p <- f_; ret (FAll r n p)
      | 11%N => do r <- range_; do n <- t_; do p <- f_; ret (FEx r n p)
      | 12%N => do n <- t_; do f <- t_; terms (FGrad1 n f)
      | 13%N => do n <- t_; do m <- t_; do f <- t_; terms (FGrad2 n m f)
      | 14%N => do n <- t_; do m <- t_; do k <- t_; do f <- t_; terms (FGrad3 n m k f)
      | 15%N =>
          do n <- t_; do m <- t_; do k <- t_; do o <- t_; do f <- t_; terms (FGrad4 n m k o f)
      | 16%N => do n <- marked_; lift_option (match n with NFormula p => Some p | _ => None end)
      | 17%N => do p <- f_; do _ <- mark (NFormula p); ret p
      | _ => do n <- t_; do p <- f_; ret (FAll (QNum KFin) n p)
      end
  end.
Definition f_ : reader fm := formula deepest.

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
Definition axiom_ : reader axiom_name :=
  do k <- nat_;
  lift_option (nth_error [AxInverse; AxSinAdd; AxCosAdd; AxPythagoras; AxCosOne; AxMaxRight;
    AxMaxLeft; AxMinLeft; AxMinRight; AxAbsNonneg; AxAbsNonpos; AxLogProduct; AxLogTangent;
    AxExpIncreasing; AxFloorLower; AxFloorUpper; AxSinUpper;
    AxSinLower; AxPiIrrational; AxDetProduct; AxDetTranspose; AxDetIdentity] k).

(** Generalise by free symbols, the first one first. *)
Definition close_one (t : thm) (a : atom) : option thm :=
  match a with
  | AVar (Free x kind n) => r_generalise t (QNum kind) x n
  | AHead (HFree x true) k _ => r_generalise t (QRan k) x zero
  | AHead (HFree x false) k v => r_generalise t (if v then QFun k else QTen k) x zero
  | _ => None
  end.
Fixpoint close (t : thm) (l : list atom) : option thm :=
  match l with
  | [] => Some t
  | a :: r => match close_one t a with Some u => close u r | None => None end
  end.
Definition symbol (a : atom) : positive :=
  match a with AVar (Free x _ _) | AHead (HFree x _) _ _ => x | _ => 1%positive end.

Definition rule (op : N) : reader (option thm) :=
  match op with
  | 1%N => do p <- f_; ret (r_assume p)
  | 2%N => do ts <- list_ h_; ret (r_conj ts)
  | 3%N => do t <- h_; do i <- nat_; do n <- nat_; ret (r_conjunct t i n)
  | 4%N => do t <- h_; do p <- f_; ret (r_discharge t p)
  | 5%N => do i <- h_; do p <- h_; ret (r_mp i p)
  | 6%N => do q <- h_; do fs <- list_ h_; do v <- vl_; ret (r_specialise q fs v)
  | 7%N => do p <- h_; do fs <- list_ h_; do g <- f_; do v <- vl_; ret (r_witness p fs g v)
  | 8%N => do s <- h_; do u <- h_; do a <- atom_; ret (r_choose s u (symbol a))
  | 9%N => do s <- h_; do us <- list_ h_; ret (r_cases s us)
  | 10%N => do p <- h_; do g <- f_; do i <- nat_; do n <- nat_; ret (r_disjunct p g i n)
  | 11%N => do p <- f_; ret (r_excluded p)
  | 12%N => do p <- h_; do q <- h_; do g <- f_; ret (r_contradiction p q g)
  | 13%N => do p <- h_; do h <- f_; ret (r_deny p h)
  | 14%N => do p <- h_; do q <- h_; ret (r_not_implies p q)
  | 15%N => do p <- h_; do fs <- list_ h_; do g <- f_; do v <- vl_; ret (r_not_forall p fs g v)
  | 16%N => do p <- h_; do g <- f_; do i <- nat_; do n <- nat_; ret (r_not_conj p g i n)
  | 17%N => do b <- h_; do s <- h_; ret (r_induction b s)
  | 18%N => do a <- axiom_; do ts <- list_ t_; ret (r_axiom a ts)
  | 19%N =>
      do ps <- list_ h_; do fs <- list_ h_; do g <- f_; do is_ <- list_ item_;
      ret (r_combination ps fs g is_)
  | 20%N =>
      do ps <- list_ h_; do fs <- list_ h_; do g <- f_; do is_ <- list_ item_;
      ret (r_order ps fs g is_)
  | 21%N => do p <- h_; do q <- h_; ret (r_antisymmetry p q)
  | 22%N => do a <- t_; do b <- t_; ret (r_dichotomy a b)
  | 23%N => do p <- h_; ret (r_apart p)
  | 24%N => do p <- h_; ret (r_not_le p)
  | 25%N => do p <- h_; do fs <- list_ h_; ret (r_gap p fs)
  | 26%N => do fs <- list_ h_; do t <- t_; ret (r_integer fs t)
  | 27%N => do e <- h_; do p <- h_; do q <- f_; ret (r_leibniz e p q)
  | 28%N => do p <- h_; do t <- t_; do t' <- t_; ret (r_extensionality p t t')
  | 29%N =>
      do fs <- list_ h_; do k <- number_; do n <- t_; do b <- t_;
      ret (r_unroll fs (negb (k =? 0)%N) n b)
  | 30%N => do fs <- list_ h_; do m <- t_; do n <- t_; do b <- t_; ret (r_block_sum fs m n b)
  | 31%N => do ps <- list_ h_; do g <- f_; do k <- nat_; ret (r_block_forall ps g k)
  | 32%N => do ps <- list_ h_; do g <- f_; ret (r_finite ps g)
  | 33%N => do fs <- list_ h_; do g <- f_; ret (r_decide 20 fs g)
  | 34%N => do ps <- list_ h_; do g <- f_; ret (r_derivative ps g)
  | 35%N => do p <- h_; do q <- h_; do g <- f_; ret (r_gradient_value p q g)
  | 36%N => do p <- h_; do q <- h_; do g <- f_; ret (r_gradient_function p q g)
  | 37%N => do p <- h_; do q <- h_; ret (r_gradient_unique p q)
  | 38%N => do t <- h_; do l <- list_ atom_; ret (close t l)
  | 39%N =>
      do ps <- list_ h_; do g <- f_; do cs <- list_ t_; ret (r_combination ps [] g (plain 0 cs))
  | 40%N => do ps <- list_ h_; do g <- f_; do cs <- list_ t_; ret (r_order ps [] g (plain 0 cs))
  | _ => fun _ _ => None
  end.

(** In the place of a theorem that was refused *)
Definition nothing_said : thm := ([], FTrue).
Definition with_theorem (o : option thm) (s : state) : state :=
  {| atoms := atoms s;
     theorems := match o with Some t => t | None => nothing_said end :: theorems s;
     failed := match o with Some _ => failed s | None => true end; said := said s |}.
(** The last theorem of a log, if all steps were made and it has no hypotheses *)
Definition conclusion (s : state) : option fm :=
  match failed s, theorems s with false, ([], p) :: _ => Some p | _, _ => None end.
Definition with_end (s : state) : state :=
  {| atoms := atoms s; theorems := []; failed := false; said := conclusion s :: said s |}.

Definition step (op : N) (s : state) (i : input) : option (state * input) :=
  if (op =? 0)%N then Some (with_end s, (fst i, []))
  else match rule op s i with Some (o, r) => Some (with_theorem o s, r) | None => None end.

(** The state after the last step, or where it stopped *)
Fixpoint steps (fuel : list N) (s : state) (i : input) : state :=
  match fuel, i with
  | _ :: f, (op :: r, t, k) =>
      match step op s (r, t, k) with Some (s', i') => steps f s' i' | None => s end
  | _, _ => s
  end.

(** The free symbols of a text, numbered from 1 *)
Definition symbol_ (x : positive) : reader atom :=
  do c <- number_;
  match c with
  | 4%N => do n <- t_; ret (AVar (Free x KFin n))
  | 5%N => do k <- nat_; ret (AHead (HFree x false) k false)
  | 6%N => do k <- nat_; ret (AHead (HFree x false) k true)
  | 7%N => do k <- nat_; ret (AHead (HFree x true) k false)
  | _ => do k <- lift_option (nth_error [KReal; KInt; KNat; KDim] (N.to_nat c));
         ret (AVar (Free x k zero))
  end.
Definition with_atoms (t : tree) : state :=
  {| atoms := t; theorems := []; failed := false; said := [] |}.
Fixpoint symbols (k : nat) (x : positive) (t : tree) (i : input) : state * input :=
  match k with
  | O => (with_atoms t, i)
  | S j =>
      match symbol_ x (with_atoms t) i with
      | Some (a, r) => symbols j (Pos.succ x) (set x a t) r
      | None => (with_atoms t, i)
      end
  end.
Fixpoint cut (k : nat) (made l : list N) : list N * list N :=
  match k, l with S j, x :: r => cut j (x :: made) r | _, _ => (rev_append made [], l) end.
(** What each log has shown *)
Definition replay (text : list (list N)) : list (option fm) :=
  let (l, terms) := match concat text with n :: l => cut (N.to_nat n) [] l | [] => ([], []) end in
  let (s, i) := symbols (N.to_nat (hd 0%N l)) 1 Leaf (tl l, terms, []) in rev (said (steps l s i)).
Definition shown (l : list (option fm)) : list bool :=
  map (fun o => match o with Some _ => true | None => false end) l.

(** ** Soundness *)
Section Sound.
Local Opaque t_ f_.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega).
Hypothesis HE : expectation E.
Notation valid := (RulesOk.valid E w0).

Definition sound (s : state) : Prop :=
  Forall valid (theorems s) /\ forall p fe, In (Some p) (said s) -> holds E w0 fe p e0.

Lemma h_valid : forall s i t r, Forall valid (theorems s) -> h_ s i = Some (t, r) -> valid t.
Proof.
  intros s [[[|x l] ts] k] t r V H; [discriminate|]. unfold h_, bind, number_, lift_option in H.
  destruct (nth_error (theorems s) (N.to_nat x)) eqn:Q; [|discriminate]. injection H as <- _.
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

Lemma close_ok : forall l t u, valid t -> close t l = Some u -> valid u.
Proof.
  induction l as [|a l IH]; intros t u V H; cbn [close] in H; [now injection H as <-|].
  destruct (close_one t a) as [t'|] eqn:Q; [|discriminate]. apply (IH t' u); [|exact H].
  unfold close_one in Q. destruct a as [[]|[] k v]; try discriminate Q; try (destruct random);
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
  apply (f_equal (fun o : option (option thm * input) =>
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
  | by_rule block_forall_ok | by_rule finite_ok | by_rule decide_ok | by_rule derivative_ok | by_rule gradient_value_ok | by_rule gradient_function_ok
  | by_rule gradient_unique_ok ].
Qed.

Lemma step_sound : forall op s i s' r, sound s -> step op s i = Some (s', r) -> sound s'.
Proof.
  intros op s i s' r [V S] H. unfold step in H. destruct (op =? 0)%N.
  - injection H as <- _. split; [constructor|]. intros p fe [Q|Q]; [|now apply S].
    unfold conclusion in Q. destruct (failed s); [discriminate|].
    destruct (theorems s) as [|[[|h hs] q] ts]; try discriminate. injection Q as ->.
    inversion V as [|? ? Vq]; subst. apply Vq. intros h I. contradiction.
  - destruct (rule op s i) as [[o r']|] eqn:Q; [|discriminate]. injection H as <- _.
    split; [|exact S]. constructor; [|exact V]. destruct o as [t|].
    + exact (rule_valid op s i t r' V Q).
    + intros fe _. exact Logic.I.
Qed.

Lemma steps_sound : forall f s i, sound s -> sound (steps f s i).
Proof.
  induction f as [|x f IH]; intros s [[[|op r] t] k] V; try exact V. cbn [steps].
  destruct (step op s (r, t, k)) as [[s' r']|] eqn:Q; [|exact V].
  apply IH. exact (step_sound op s (r, t, k) s' r' V Q).
Qed.
Lemma symbols_sound : forall k x t i, sound (fst (symbols k x t i)).
Proof.
  assert (forall t, sound (with_atoms t)) as H by (split; [constructor|intros p fe []]).
  induction k as [|k IH]; intros x t i; cbn [symbols]; [apply H|].
  destruct (symbol_ x (with_atoms t) i) as [[a r]|]; [apply IH|apply H].
Qed.

(** What the log k has shown; nothing if there is no such log, or a step of it was refused *)
Definition says (l : list (option fm)) (k : nat) : fm :=
  match nth_error l k with Some (Some p) => p | _ => FTrue end.
Lemma replay_ok : forall b l k fe, replay b = l -> holds E w0 fe (says l k) e0.
Proof.
  intros b l k fe <-. unfold says. destruct (nth_error (replay b) k) as [[p|]|] eqn:Q;
    [|exact Logic.I..].
  apply nth_error_In in Q. unfold replay in Q.
  destruct (match concat b with [] => _ | _ => _ end) as [l terms].
  pose proof (symbols_sound (N.to_nat (hd 0%N l)) 1 Leaf (tl l, terms, [])) as S.
  destruct (symbols _ _ _ _) as [s i]. apply in_rev in Q.
  exact (proj2 (steps_sound l s i S) p fe Q).
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

(** Of statements without expectations, in the order of the logs from number k on *)
Fixpoint all (l : list Prop) : Prop := match l with [] => True | p :: r => p /\ all r end.
Ltac by_logs r k :=
  lazymatch goal with
  | |- all [] => exact Logic.I
  | |- all (True :: _) => split; [exact Logic.I | by_logs r (S k)]
  | |- all (_ :: _) => split; [exact (truth_ok _ _ r k) | by_logs r (S k)]
  | |- all ?l => unfold l; by_logs r k
  end.
