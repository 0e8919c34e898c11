(** Polynomials with sums: their meaning, products, exchanges, and the way back to terms.

    A polynomial is a list of monomials [(c, (ss, fs))]: a rational, the ranges of nested sums from
    the outside in (each under the indices before it), and factors with their exponents under all of
    these indices. *)
Require Import ZArith QArith Qreals Lia Lra FunctionalExtensionality Bool.
From Derive Require Import Prelude Sums Terms.
Close Scope Q_scope.
Open Scope R_scope.
Arguments Qred : simpl never.
Arguments Qmult : simpl never.
Arguments Qplus : simpl never.
Arguments Q2R : simpl never.

Definition mono := (list tm * list (tm * nat))%type.
Definition poly := list (Q * mono).

(** What is known of a bound name: an index below a size, a natural number, nothing. *)
Inductive entry := CIdx (n : tm) | CNat | CAny.
Definition ctx := list entry.

(** [a || b] evaluates [b] in every case; where that is much work, an [if] stands in its place. *)
Lemma or_if : forall a b : bool, (if a then true else b) = a || b.
Proof. reflexivity. Qed.
Lemma and_if : forall a b : bool, (if a then b else false) = a && b.
Proof. reflexivity. Qed.

(** ** An order of terms *)
Notation cmp2 a b := (match a with Eq => b | Lt => Lt | Gt => Gt end).
Definition fname_rank (f : fname) : Z :=
  (match f with Fsin => 0 | Fcos => 1 | Fexp => 2 | Fln => 3 | Fsqrt => 4 | Fabs => 5
  | Ffloor => 6 end)%Z.
Definition rank (t : tm) : Z :=
  (match t with
  | Num _ _ => 0 | Pi => 1 | Free _ _ _ => 2 | Bound _ => 3 | Add _ _ => 4 | Mul _ _ => 5
  | Opp _ => 6 | Inv _ => 7 | Pow _ _ => 8 | Fn f _ => 20 + fname_rank f | Max _ _ => 9
  | Min _ _ => 10 | RPow _ _ => 11 | Delta _ _ => 12 | TSum _ _ => 13 | TProd _ _ => 14
  | Exp_ _ => 15 | Val _ => 16 | HFree _ _ => 17 | HBound _ => 18 | Ap _ _ => 19
  | ApV _ _ _ => 30 | Lam _ => 31 | TDet _ _ => 32
  end)%Z.
Fixpoint tcmp (s t : tm) : comparison :=
  match s, t with
  | Num p q, Num p' q' => cmp2 (Z.compare p p') (Pos.compare q q')
  | Free x _ n, Free x' _ n' => cmp2 (Pos.compare x x') (tcmp n n')
  | Bound i, Bound j | HBound i, HBound j => Nat.compare i j
  | Add a b, Add a' b' | Mul a b, Mul a' b' | Max a b, Max a' b' | Min a b, Min a' b'
  | RPow a b, RPow a' b' | Delta a b, Delta a' b' | TSum a b, TSum a' b' | TProd a b, TProd a' b'
  | Ap a b, Ap a' b' | TDet a b, TDet a' b' => cmp2 (tcmp a a') (tcmp b b')
  | Opp a, Opp a' | Inv a, Inv a' | Exp_ a, Exp_ a' | Val a, Val a' | Lam a, Lam a' => tcmp a a'
  | Pow a k, Pow a' k' => cmp2 (tcmp a a') (Nat.compare k k')
  | Fn f a, Fn f' a' => cmp2 (Z.compare (fname_rank f) (fname_rank f')) (tcmp a a')
  | HFree x _, HFree x' _ => Pos.compare x x'
  | ApV h n b, ApV h' n' b' => cmp2 (tcmp h h') (cmp2 (tcmp n n') (tcmp b b'))
  | _, _ => Z.compare (rank s) (rank t)
  end.
Definition tlt (s t : tm) : bool := match tcmp s t with Lt => true | _ => false end.

Fixpoint fcmp (a b : list (tm * nat)) : comparison :=
  match a, b with
  | [], [] => Eq
  | [], _ => Lt
  | _, [] => Gt
  | (t, k) :: a', (u, j) :: b' => cmp2 (tcmp t u) (cmp2 (Nat.compare k j) (fcmp a' b'))
  end.
Fixpoint scmp (a b : list tm) : comparison :=
  match a, b with
  | [], [] => Eq
  | [], _ => Lt
  | _, [] => Gt
  | t :: a', u :: b' => cmp2 (tcmp t u) (scmp a' b')
  end.
Definition mcmp (m n : mono) : comparison :=
  cmp2 (Nat.compare (length (fst m)) (length (fst n)))
    (cmp2 (fcmp (snd m) (snd n)) (scmp (fst m) (fst n))).

Fixpoint seqb (a b : list tm) : bool :=
  match a, b with
  | [], [] => true
  | t :: a', u :: b' => teqb t u && seqb a' b'
  | _, _ => false
  end.
Fixpoint pweqb (a b : list (tm * nat)) : bool :=
  match a, b with
  | [], [] => true
  | (t, k) :: a', (u, j) :: b' => teqb t u && Nat.eqb k j && pweqb a' b'
  | _, _ => false
  end.
Definition meqb (m n : mono) : bool := seqb (fst m) (fst n) && pweqb (snd m) (snd n).

Lemma seqb_eq : forall a b, seqb a b = true -> a = b.
Proof.
  induction a; intros [] H; simpl in H; try easy. apply andb_true_iff in H. destruct H as [H1 H2].
  apply teqb_eq in H1. f_equal; auto.
Qed.
Lemma pweqb_eq : forall a b, pweqb a b = true -> a = b.
Proof.
  induction a as [|[t k] a IH]; intros [|[u j] b] H; simpl in H; try easy.
  rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3].
  apply teqb_eq in H1. apply Nat.eqb_eq in H2. subst. f_equal; auto.
Qed.
Lemma meqb_eq : forall m n, meqb m n = true -> m = n.
Proof.
  intros [a b] [c d] H. unfold meqb in H. simpl in H. apply andb_true_iff in H.
  destruct H as [H1 H2]. apply seqb_eq in H1. apply pweqb_eq in H2. now subst.
Qed.

(** ** Building *)
Definition pconst (q : Q) : poly := if Qeq_bool q 0 then [] else [(q, ([], []))].
Definition patom (t : tm) : poly := [(1%Q, ([], [(t, 1%nat)]))].
Definition pscale (q : Q) (p : poly) : poly :=
  if Qeq_bool q 0 then [] else map (fun cm => (Qred (q * fst cm), snd cm)) p.

(** Merging equal monomials into an ordered list *)
Fixpoint pinsert (c : Q) (m : mono) (p : poly) : poly :=
  match p with
  | [] => [(c, m)]
  | (d, n) :: r =>
      if meqb m n
      then let s := Qred (c + d) in if Qeq_bool s 0 then r else (s, m) :: r
      else match mcmp m n with Lt => (c, m) :: p | _ => (d, n) :: pinsert c m r end
  end.
Fixpoint pmerge (p q : poly) : poly :=
  match p with [] => q | (c, m) :: r => pmerge r (pinsert c m q) end.

Fixpoint finsert (t : tm) (k : nat) (l : list (tm * nat)) : list (tm * nat) :=
  match l with
  | [] => [(t, k)]
  | (u, j) :: r =>
      if teqb t u then (u, (k + j)%nat) :: r
      else if tlt t u then (t, k) :: l else (u, j) :: finsert t k r
  end.
Fixpoint fmerge (a b : list (tm * nat)) : list (tm * nat) :=
  match a with [] => b | (t, k) :: r => fmerge r (finsert t k b) end.

Definition ren_fs (r : nat -> nat) (fs : list (tm * nat)) : list (tm * nat) :=
  map (fun tk => (ren r (fst tk), snd tk)) fs.
Fixpoint ren_m (r : nat -> nat) (ss : list tm) (fs : list (tm * nat)) : mono :=
  match ss with
  | [] => ([], ren_fs r fs)
  | n :: s => let m := ren_m (up r) s fs in (ren r n :: fst m, snd m)
  end.

Fixpoint mul_in (fs : list (tm * nat)) (ss : list tm) (gs : list (tm * nat)) : mono :=
  match ss with
  | [] => ([], fmerge fs gs)
  | n :: s => let m := mul_in (ren_fs S fs) s gs in (n :: fst m, snd m)
  end.
Fixpoint mul_m (ss : list tm) (fs : list (tm * nat)) (m : mono) : mono :=
  match ss with
  | [] => mul_in fs (fst m) (snd m)
  | n :: s =>
      let m' := mul_m s fs (ren_m S (fst m) (snd m)) in (n :: fst m', snd m')
  end.
Fixpoint pmul1 (c : Q) (m : mono) (q : poly) : poly :=
  match q with
  | [] => []
  | (d, n) :: r => (Qred (c * d), mul_m (fst m) (snd m) n) :: pmul1 c m r
  end.
Fixpoint pmul (p q : poly) : poly :=
  match p with [] => [] | (c, m) :: r => pmul1 c m q ++ pmul r q end.

Definition wrap (ss : list tm) (p : poly) : poly :=
  map (fun cm => (fst cm, (ss ++ fst (snd cm), snd (snd cm)))) p.

Fixpoint ext (c : ctx) (ss : list tm) : ctx :=
  match ss with [] => c | n :: r => ext (CIdx n :: c) r end.

(** Exchange of the sums j and j + 1, if the inner range does not depend on the outer index. *)
Definition sw (k : nat) : nat := match k with O => 1%nat | S O => O | _ => k end.
Fixpoint swap_m (j : nat) (ss : list tm) (fs : list (tm * nat)) : option mono :=
  match j, ss with
  | O, n :: m :: r =>
      let m' := ren pred m in
      if teqb (lift m') m
      then let rest := ren_m sw r fs in Some (m' :: lift n :: fst rest, snd rest)
      else None
  | S i, n :: r =>
      match swap_m i r fs with Some m => Some (n :: fst m, snd m) | None => None end
  | _, _ => None
  end.

(** Back to a term *)
Definition num_tm (q : Q) : tm := Num (Qnum q) (Qden q).
Definition power_tm (tk : tm * nat) : tm :=
  match snd tk with 1%nat => fst tk | k => Pow (fst tk) k end.
Fixpoint times_tm (t : tm) (fs : list (tm * nat)) : tm :=
  match fs with [] => t | f :: r => times_tm (Mul t (power_tm f)) r end.
Definition fs_tm (c : Q) (fs : list (tm * nat)) : tm :=
  match fs with
  | [] => num_tm c
  | f :: r =>
      if Qeq_bool c 1 then times_tm (power_tm f) r else times_tm (Mul (num_tm c) (power_tm f)) r
  end.
Fixpoint mono_tm (c : Q) (ss : list tm) (fs : list (tm * nat)) : tm :=
  match ss with [] => fs_tm c fs | n :: r => TSum n (mono_tm c r fs) end.
Definition cm_tm (cm : Q * mono) : tm := mono_tm (fst cm) (fst (snd cm)) (snd (snd cm)).
Fixpoint add_tm (t : tm) (p : poly) : tm :=
  match p with [] => t | cm :: r => add_tm (Add t (cm_tm cm)) r end.
Definition to_tm (p : poly) : tm :=
  match p with [] => Num 0 1 | cm :: r => add_tm (cm_tm cm) r end.

Section Meaning.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega) (fe : positive -> @val Omega).
Notation val := (@val Omega).
Notation env := (@env Omega).
Definition tv (t : tm) (w : Omega) (e : env) : R := eval E w0 fe t w e [].

Fixpoint msum (ss : list tm) (w : Omega) (e : env) (G : env -> R) : R :=
  match ss with
  | [] => G e
  | n :: r => Sum (tv n w e) (fun v => msum r w (scons (sc v) e) G)
  end.
Fixpoint fprod (fs : list (tm * nat)) (w : Omega) (e : env) : R :=
  match fs with [] => 1 | (t, k) :: r => tv t w e ^ k * fprod r w e end.
Definition meval (m : mono) (w : Omega) (e : env) : R :=
  msum (fst m) w e (fun e' => fprod (snd m) w e').
Fixpoint peval (p : poly) (w : Omega) (e : env) : R :=
  match p with [] => 0 | (c, m) :: r => Q2R c * meval m w e + peval r w e end.

Fixpoint okc (c : ctx) (w : Omega) (e : env) : Prop :=
  match c with
  | [] => steady e
  | x :: c' =>
      okc c' w (fun k => e (S k)) /\
      match x with
      | CIdx n => exists v, e O = sc v /\ is_index (tv n w (fun k => e (S k))) v
      | CNat => exists v, e O = sc v /\ is_nat v
      | CAny => forall u u' l, e O u l = e O u' l
      end
  end.

Lemma okc_idx : forall c w e n v, okc c w e -> is_index (tv n w e) v ->
  okc (CIdx n :: c) w (scons (sc v) e).
Proof. intros c w e n v O I. simpl. split; [exact O|]. exists v. split; [reflexivity|exact I]. Qed.

Lemma okc_steady : forall c w e, okc c w e -> steady e.
Proof.
  induction c as [|x c IH]; intros w e O; [exact O|]. simpl in O. destruct O as [O X].
  apply IH in O. intros [|k] u u' l; [|apply O].
  destruct x; [destruct X as (v & -> & _); easy|destruct X as (v & -> & _); easy|apply X].
Qed.
Definition forget (c : ctx) : ctx := map (fun _ => CAny) c.
Lemma okc_forget : forall c w w' e, okc c w e -> okc (forget c) w' e.
Proof.
  induction c as [|x c IH]; intros w w' e O; [exact O|]. pose proof (okc_steady _ _ _ O) as St.
  simpl in *. destruct O as [O X]. split; [now apply (IH w)|]. intros u u' l. apply St.
Qed.

(** *** Rationals *)
Lemma Q2R_red : forall q, Q2R (Qred q) = Q2R q.
Proof. intros q. apply Qeq_eqR, Qred_correct. Qed.
Lemma Q2R_0 : forall q, Qeq_bool q 0 = true -> Q2R q = 0.
Proof. intros q H. apply Qeq_bool_eq in H. rewrite (Qeq_eqR _ _ H). unfold Q2R. simpl. lra. Qed.
Lemma Q2R_1 : forall q, Qeq_bool q 1 = true -> Q2R q = 1.
Proof. intros q H. apply Qeq_bool_eq in H. rewrite (Qeq_eqR _ _ H). unfold Q2R. simpl. lra. Qed.
Lemma Q2R_one : Q2R 1 = 1. Proof. unfold Q2R. simpl. lra. Qed.
Lemma number_Q2R : forall p q, number p q = Q2R (Qmake p q).
Proof. intros p []; unfold number, Q2R, Qden, Qnum, Rdiv; try easy. rewrite Rinv_1. ring. Qed.
Lemma tv_num : forall q w e, tv (num_tm q) w e = Q2R q.
Proof. intros [p q] w e. unfold tv, num_tm. simpl. apply number_Q2R. Qed.

(** *** Sums *)
Lemma msum_ext : forall ss c w e G H, okc c w e ->
  (forall e', okc (ext c ss) w e' -> G e' = H e') -> msum ss w e G = msum ss w e H.
Proof.
  induction ss as [|n r IH]; intros c w e G H O K; simpl in *; [now apply K|].
  apply Sum_ext. intros i Hi. apply (IH (CIdx n :: c)); [|exact K]. now apply okc_idx.
Qed.
Lemma msum_ext' : forall ss w e G H, (forall e', G e' = H e') -> msum ss w e G = msum ss w e H.
Proof.
  induction ss as [|n r IH]; intros w e G H K; simpl; [apply K|].
  apply Sum_ext. intros i _. now apply IH.
Qed.
Lemma msum_scal : forall ss w e a G, msum ss w e (fun e' => a * G e') = a * msum ss w e G.
Proof.
  induction ss as [|n r IH]; intros w e a G; simpl; [easy|]. rewrite <- Sum_scal.
  apply Sum_ext. intros i _. apply IH.
Qed.
Lemma msum_plus : forall ss w e G H,
  msum ss w e (fun e' => G e' + H e') = msum ss w e G + msum ss w e H.
Proof.
  induction ss as [|n r IH]; intros w e G H; simpl; [easy|]. rewrite <- Sum_plus.
  apply Sum_ext. intros i _. apply IH.
Qed.
Lemma msum_0 : forall ss w e, msum ss w e (fun _ => 0) = 0.
Proof.
  induction ss as [|n r IH]; intros w e; simpl; [easy|]. transitivity (Sum (tv n w e) (fun _ => 0)).
  - apply Sum_ext. intros i _. apply IH.
  - apply Sum_0.
Qed.
Lemma msum_app : forall a b w e G, msum (a ++ b) w e G = msum a w e (fun e' => msum b w e' G).
Proof.
  induction a as [|n r IH]; intros b w e G; simpl; [easy|]. apply Sum_ext. intros. apply IH.
Qed.

(** *** Polynomials *)
Lemma peval_app : forall p q w e, peval (p ++ q) w e = peval p w e + peval q w e.
Proof.
  induction p as [|[c m] p IH]; intros q w e; simpl; [lra|]. rewrite IH. lra.
Qed.
Lemma peval_const : forall q w e, peval (pconst q) w e = Q2R q.
Proof.
  intros q w e. unfold pconst. destruct (Qeq_bool q 0) eqn:H; simpl.
  - now rewrite Q2R_0.
  - unfold meval. simpl. lra.
Qed.
Lemma peval_atom : forall t w e, peval (patom t) w e = tv t w e.
Proof. intros. unfold patom. simpl. unfold meval. simpl. rewrite Q2R_one. ring. Qed.
Lemma peval_scale : forall q p w e, peval (pscale q p) w e = Q2R q * peval p w e.
Proof.
  intros q p w e. unfold pscale. destruct (Qeq_bool q 0) eqn:H.
  - rewrite Q2R_0 by easy. simpl. lra.
  - induction p as [|[c m] p IH]; simpl; [lra|].
    rewrite IH, Q2R_red, Q2R_mult. simpl. lra.
Qed.
Lemma peval_insert : forall c m p w e,
  peval (pinsert c m p) w e = Q2R c * meval m w e + peval p w e.
Proof.
  intros c m p w e. induction p as [|[d n] p IH]; simpl; [easy|].
  destruct (meqb m n) eqn:H.
  - apply meqb_eq in H. subst. destruct (Qeq_bool (Qred (c + d)) 0) eqn:Z; simpl.
    + apply Q2R_0 in Z. rewrite Q2R_red, Q2R_plus in Z.
      replace (Q2R d) with (- Q2R c) by lra. lra.
    + rewrite Q2R_red, Q2R_plus. lra.
  - destruct (mcmp m n); simpl; rewrite ?IH; lra.
Qed.
Lemma peval_merge : forall p q w e, peval (pmerge p q) w e = peval p w e + peval q w e.
Proof.
  induction p as [|[c m] p IH]; intros q w e; simpl; [lra|]. rewrite IH, peval_insert. lra.
Qed.

Lemma fprod_insert : forall t k l w e,
  fprod (finsert t k l) w e = tv t w e ^ k * fprod l w e.
Proof.
  intros t k l w e. induction l as [|[u j] l IH]; simpl; [easy|].
  destruct (teqb t u) eqn:H; simpl.
  - apply teqb_eq in H. subst. rewrite pow_add. ring.
  - destruct (tlt t u); simpl; [easy|]. rewrite IH. ring.
Qed.
Lemma fprod_merge : forall a b w e, fprod (fmerge a b) w e = fprod a w e * fprod b w e.
Proof.
  induction a as [|[t k] a IH]; intros b w e; simpl; [ring|]. rewrite IH, fprod_insert. ring.
Qed.
Lemma fprod_ren : forall r fs w e, fprod (ren_fs r fs) w e = fprod fs w (fun k => e (r k)).
Proof.
  intros r fs w e. induction fs as [|[t k] fs IH]; simpl; [easy|].
  rewrite IH. unfold tv. now rewrite eval_ren.
Qed.
Lemma meval_ren : forall ss r fs w e,
  meval (ren_m r ss fs) w e = meval (ss, fs) w (fun k => e (r k)).
Proof.
  unfold meval. induction ss as [|n s IH]; intros r fs w e; simpl; [apply fprod_ren|].
  unfold tv at 1. rewrite eval_ren. apply Sum_ext. intros i _.
  specialize (IH (up r) fs w (scons (sc i) e)). simpl in IH. rewrite IH.
  now rewrite scons_up.
Qed.
Lemma meval_mul_in : forall ss fs gs w e,
  meval (mul_in fs ss gs) w e = fprod fs w e * meval (ss, gs) w e.
Proof.
  unfold meval. induction ss as [|n s IH]; intros fs gs w e; simpl; [apply fprod_merge|].
  rewrite <- Sum_scal. apply Sum_ext. intros i _.
  specialize (IH (ren_fs S fs) gs w (scons (sc i) e)). simpl in IH. rewrite IH.
  now rewrite fprod_ren.
Qed.
Lemma meval_mul : forall ss fs m w e,
  meval (mul_m ss fs m) w e = meval (ss, fs) w e * meval m w e.
Proof.
  induction ss as [|n s IH]; intros fs [ss' gs] w e.
  - simpl mul_m. now rewrite meval_mul_in.
  - unfold meval in *. simpl. rewrite <- Sum_scal_r. apply Sum_ext. intros i _.
    specialize (IH fs (ren_m S ss' gs) w (scons (sc i) e)). simpl in IH. rewrite IH.
    f_equal. apply (meval_ren ss' S gs w (scons (sc i) e)).
Qed.
Lemma peval_mul1 : forall c m q w e,
  peval (pmul1 c m q) w e = Q2R c * meval m w e * peval q w e.
Proof.
  intros c [ss fs] q w e. induction q as [|[d n] q IH]; simpl; [lra|].
  rewrite IH, Q2R_red, Q2R_mult, meval_mul. simpl. ring.
Qed.
Lemma peval_mul : forall p q w e, peval (pmul p q) w e = peval p w e * peval q w e.
Proof.
  induction p as [|[c m] p IH]; intros q w e; simpl; [lra|].
  rewrite peval_app, IH, peval_mul1. ring.
Qed.
Lemma peval_wrap : forall ss p w e, peval (wrap ss p) w e = msum ss w e (fun e' => peval p w e').
Proof.
  intros ss p w e. induction p as [|[c m] p IH]; simpl; [now rewrite msum_0|].
  rewrite IH, msum_plus, msum_scal. unfold meval. simpl. now rewrite msum_app.
Qed.

Lemma scons_sw : forall (a b : val) (e : env),
  (fun k => scons a (scons b e) (sw k)) = scons b (scons a e).
Proof. intros. apply functional_extensionality. now intros [|[|k]]. Qed.

Lemma meval_swap : forall j ss fs m w e, swap_m j ss fs = Some m ->
  meval m w e = meval (ss, fs) w e.
Proof.
  induction j as [|j IH]; intros ss fs m w e H; simpl in H.
  - destruct ss as [|n [|k r]]; try discriminate.
    destruct (teqb (lift (ren pred k)) k) eqn:Q; [|discriminate].
    apply teqb_eq in Q. injection H as <-. unfold meval. simpl.
    set (k' := ren pred k) in *. rewrite <- Q. clearbody k'. clear Q k.
    transitivity (Sum (tv k' w e) (fun v => Sum (tv n w e) (fun u =>
      msum r w (scons (sc v) (scons (sc u) e)) (fun e' => fprod fs w e')))).
    + apply Sum_ext. intros v _. unfold tv at 1. rewrite eval_lift. apply Sum_ext. intros u _.
      pose proof (meval_ren r sw fs w (scons (sc u) (scons (sc v) e))) as K.
      unfold meval in K. simpl in K. rewrite K. now rewrite scons_sw.
    + rewrite Sum_swap. apply Sum_ext. intros u _. unfold tv at 2. now rewrite eval_lift.
  - destruct ss as [|n r]; [discriminate|].
    destruct (swap_m j r fs) as [m'|] eqn:Q; [|discriminate]. injection H as <-.
    unfold meval. simpl. apply Sum_ext. intros i _. now apply (IH r fs m' w (scons (sc i) e)).
Qed.

(** *** Terms of polynomials *)
Lemma tv_power : forall t k w e, tv (power_tm (t, k)) w e = tv t w e ^ k.
Proof. intros t [|[|k]] w e; unfold tv; simpl; rewrite ?Rmult_1_r; reflexivity. Qed.
Lemma tv_times : forall fs t w e, tv (times_tm t fs) w e = tv t w e * fprod fs w e.
Proof.
  induction fs as [|[u k] fs IH]; intros t w e; simpl; [lra|]. rewrite IH.
  pose proof (tv_power u k w e) as H. unfold tv in *. simpl. rewrite H. ring.
Qed.
Lemma tv_fs : forall c fs w e, tv (fs_tm c fs) w e = Q2R c * fprod fs w e.
Proof.
  intros c [|[t k] fs] w e; simpl; [rewrite tv_num; lra|].
  pose proof (tv_power t k w e) as H.
  destruct (Qeq_bool c 1) eqn:Q; rewrite tv_times.
  - rewrite H, (Q2R_1 c Q). ring.
  - pose proof (tv_num c w e) as N. unfold tv in *. simpl in *. rewrite H, N. ring.
Qed.
Lemma tv_mono : forall ss c fs w e, tv (mono_tm c ss fs) w e = Q2R c * meval (ss, fs) w e.
Proof.
  unfold meval. induction ss as [|n r IH]; intros c fs w e; simpl; [apply tv_fs|].
  unfold tv. simpl. rewrite <- Sum_scal. apply Sum_ext. intros i _. apply IH.
Qed.
Lemma tv_add : forall p t w e, tv (add_tm t p) w e = tv t w e + peval p w e.
Proof.
  induction p as [|[c [ss fs]] p IH]; intros t w e; simpl; [lra|]. rewrite IH.
  pose proof (tv_mono ss c fs w e) as H. unfold tv, cm_tm in *. simpl. rewrite H. ring.
Qed.
Lemma tv_to_tm : forall p w e, tv (to_tm p) w e = peval p w e.
Proof.
  intros [|[c [ss fs]] p] w e; simpl; [reflexivity|]. rewrite tv_add. f_equal.
  apply tv_mono.
Qed.

End Meaning.
