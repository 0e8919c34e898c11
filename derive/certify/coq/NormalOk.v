(** The normal form of a term has the value of the term. *)
Require Import ZArith QArith Qreals Lia Lra FunctionalExtensionality Bool.
From Derive Require Import Prelude Sums Terms Poly Signs Normal.
From Derive Require Det.
Close Scope Q_scope.
Open Scope R_scope.

Arguments pconst : simpl never.
Arguments pscale : simpl never.
Arguments patom : simpl never.
Arguments Qred : simpl never.
Arguments Qmult : simpl never.
Arguments Qplus : simpl never.
Arguments Q2R : simpl never.
Arguments Qinv : simpl never.
Arguments Qopp : simpl never.

Lemma Q2R_pow : forall q k, Q2R (qpow q k) = Q2R q ^ k.
Proof.
  intros q k. induction k as [|k IH]; simpl; [apply Q2R_one|].
  now rewrite Q2R_red, Q2R_mult, IH.
Qed.
Lemma Q2R_inv0 : forall q, Q2R (Qinv q) = / Q2R q.
Proof.
  intros q. destruct (Qeq_dec q 0) as [H|H].
  - rewrite (Qeq_eqR q 0 H). rewrite (Qeq_eqR (Qinv q) 0).
    + unfold Q2R. simpl. rewrite Rmult_0_l. now rewrite Rinv_0.
    + rewrite H. reflexivity.
  - now apply Q2R_inv.
Qed.
Lemma Q2R_abs : forall q, Q2R (q_abs q) = Rabs (Q2R q).
Proof.
  intros [p d]. unfold q_abs, Q2R. simpl. rewrite Rabs_mult, abs_IZR. f_equal.
  symmetry. apply Rabs_pos_eq. left. apply Rinv_0_lt_compat, IZR_lt. lia.
Qed.
Lemma Q2R_nonneg : forall q, Qle_bool 0 q = true -> 0 <= Q2R q.
Proof.
  intros q H. apply Qle_bool_imp_le, Qle_Rle in H. unfold Q2R in H at 1. simpl in H. lra.
Qed.
Lemma Q2R_inject : forall z, Q2R (inject_Z z) = IZR z.
Proof. intros z. unfold Q2R. simpl. field. Qed.
Lemma Q2R_opp' : forall q, Q2R (Qopp q) = - Q2R q.
Proof. apply Q2R_opp. Qed.
Lemma Q2R_m1 : Q2R (-1) = -1. Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_den1 : forall q, Pos.eqb (Qden (Qred q)) 1 = true -> Q2R q = IZR (Qnum (Qred q)).
Proof.
  intros q H. apply Pos.eqb_eq in H. rewrite <- Q2R_red. destruct (Qred q) as [n d]. simpl in *.
  subst. unfold Q2R. simpl. field.
Qed.
Lemma Rinv_mult' : forall x y, / (x * y) = / x * / y.
Proof. apply Rinv_mult. Qed.
Lemma pow_inv' : forall x k, / (x ^ k) = (/ x) ^ k.
Proof. intros x k. now rewrite pow_inv. Qed.
Lemma pow_cancel : forall x j k, (j < k)%nat -> (0 < j)%nat -> (/ x) ^ j * x ^ k = x ^ (k - j).
Proof.
  intros x j k H J. destruct (Req_dec x 0) as [-> | N].
  - rewrite Rinv_0, !pow_i by lia. ring.
  - replace k with (j + (k - j))%nat at 1 by lia. rewrite pow_add.
    rewrite <- Rmult_assoc, <- Rpow_mult_distr, Rinv_l, pow1; lra.
Qed.
Lemma pow_cancel' : forall x j k, (k < j)%nat -> (0 < k)%nat -> (/ x) ^ j * x ^ k = (/ x) ^ (j - k).
Proof.
  intros x j k H J. rewrite <- (pow_cancel (/ x) k j H J). rewrite Rinv_inv. ring.
Qed.
Lemma pow_pair : forall x j, (0 < j)%nat -> (/ x) ^ j * x ^ j = / x * x.
Proof.
  intros x j J. destruct (Req_dec x 0) as [-> | N].
  - rewrite Rinv_0, !pow_i by lia. ring.
  - rewrite <- Rpow_mult_distr, Rinv_l, pow1; lra.
Qed.

Section Sound.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega) (fe : positive -> @val Omega).
Hypothesis HE : expectation E.
Notation env := (@env Omega).
Notation tv := (tv E w0 fe).
Notation okc := (okc E w0 fe).
Notation peval := (peval E w0 fe).
Notation meval := (meval E w0 fe).
Notation fprod := (fprod E w0 fe).
Notation msum := (msum E w0 fe).
Variable K : known.
Hypothesis HK : known_ok E w0 fe K.
Variable N : ctx -> tm -> poly.
Hypothesis HN : forall c t w e, okc c w e -> peval (N c t) w e = tv t w e.

Lemma rep_ok : forall x k n t r w e l V,
  (forall w' l', eval E w0 fe r w' e l' = V) -> clamp k (tv n w0 e0) (fe x w0 []) = V ->
  eval E w0 fe (rep x k n r t) w e l = eval E w0 fe t w e l.
Proof.
  intros x k n. induction t; intros r w e l V H HV; simpl; try reflexivity;
    try (now rewrite (IHt r _ _ _ V H HV));
    try (now rewrite (IHt1 r _ _ _ V H HV), (IHt2 r _ _ _ V H HV)).
  - destruct (Pos.eqb x0 x && kind_eqb k0 k && teqb t n) eqn:Q; [|reflexivity].
    rewrite !andb_true_iff in Q. destruct Q as [[Q1 Q2] Q3]. apply Pos.eqb_eq in Q1.
    apply kind_eqb_eq in Q2. apply teqb_eq in Q3. subst. now rewrite H.
  - rewrite (IHt1 r _ _ _ V H HV). f_equal. apply functional_extensionality. intros v.
    apply (IHt2 (lift r) _ _ _ V); [|easy]. intros. now rewrite eval_lift.
  - rewrite (IHt1 r _ _ _ V H HV). f_equal. apply functional_extensionality. intros v.
    apply (IHt2 (lift r) _ _ _ V); [|easy]. intros. now rewrite eval_lift.
  - f_equal. apply functional_extensionality. intros w'. now apply (IHt r _ _ _ V).
  - rewrite (IHt1 r _ _ _ V H HV), (IHt2 r _ _ _ V H HV). do 5 f_equal.
    apply functional_extensionality. intros v.
    apply (IHt3 (lift r) _ _ _ V); [|easy]. intros. now rewrite eval_lift.
  - destruct l as [|[]]; [easy| |easy].
    apply (IHt (lift r) _ _ _ V); [|easy]. intros. now rewrite eval_lift.
  - rewrite (IHt1 r _ _ _ V H HV). f_equal. apply matrix_ext. intros i j.
    now apply (IHt2 r _ _ _ V).
Qed.

Lemma fget_ok : forall t fs w e, fprod fs w e = tv t w e ^ fget t fs * fprod (fdel t fs) w e.
Proof.
  intros t fs w e. induction fs as [|[u k] fs IH]; simpl; [ring|].
  destruct (teqb u t) eqn:Q; simpl; rewrite IH; [|ring].
  apply teqb_eq in Q. subst. rewrite pow_add. ring.
Qed.

Lemma ppow_ok : forall p k w e, peval (ppow p k) w e = peval p w e ^ k.
Proof.
  intros p k w e. induction k as [|k IH]; cbn [ppow pow].
  - rewrite peval_const. apply Q2R_one.
  - now rewrite peval_mul, IH.
Qed.

Lemma swaps_ok : forall js m m' w e, swaps js m = Some m' -> meval m' w e = meval m w e.
Proof.
  induction js as [|j r IH]; intros m m' w e H; simpl in H; [now injection H as <-|].
  destruct (swap_m j (fst m) (snd m)) as [n|] eqn:Q; [|discriminate].
  rewrite (IH n m' w e H). destruct m as [ss fs]. now apply (meval_swap _ _ _ j ss fs n).
Qed.

Lemma renorm1_ok : forall c tk q gs w e, okc c w e -> renorm1 N c tk = (q, gs) ->
  Q2R q * fprod gs w e = fprod [tk] w e.
Proof.
  intros c [t k] q gs w e O H. unfold renorm1 in H.
  assert ((1%Q, [(t, k)]) = (q, gs) -> Q2R q * fprod gs w e = fprod [(t, k)] w e) as D.
  { intros X. injection X as <- <-. rewrite Q2R_one. ring. }
  destruct (is_plain t); [auto|].
  pose proof (HN c t w e O) as HT.
  destruct (N c t) as [|[p [[|s ss] fs]] [|? ?]]; auto.
  injection H as <- <-. simpl in HT. unfold Poly.meval in HT. simpl in HT. simpl.
  rewrite <- HT, Q2R_pow. rewrite Rplus_0_r, Rpow_mult_distr, Rmult_1_r. f_equal.
  clear. induction fs as [|[u j] fs IH]; simpl; [now rewrite pow1|].
  rewrite IH, Rpow_mult_distr. f_equal. now rewrite pow_mult.
Qed.

Lemma renorm_ok : forall c fs q gs w e, okc c w e -> renorm N c fs = (q, gs) ->
  Q2R q * fprod gs w e = fprod fs w e.
Proof.
  intros c. induction fs as [|tk fs IH]; intros q gs w e O H; simpl in H.
  - injection H as <- <-. rewrite Q2R_one. simpl. ring.
  - destruct (renorm1 N c tk) as [q1 g1] eqn:H1. destruct (renorm N c fs) as [q2 g2] eqn:H2.
    injection H as <- <-. apply (renorm1_ok c tk q1 g1 w e O) in H1.
    specialize (IH q2 g2 w e O eq_refl). rename IH into H3. rewrite Q2R_red, Q2R_mult, fprod_merge.
    destruct tk as [t k]. simpl in *. rewrite <- H3. rewrite Rmult_1_r in H1. rewrite <- H1. ring.
Qed.

Definition same_m (q : Q * mono) (m : mono) w e := Q2R (fst q) * meval (snd q) w e = meval m w e.

Lemma arranged_ok : forall c m w e, okc c w e -> same_m (arranged N c m) m w e.
Proof.
  intros c [ss fs] w e O. unfold same_m, arranged. simpl.
  destruct (renorm N (ext c ss) fs) as [q gs] eqn:H. simpl. unfold Poly.meval. simpl.
  rewrite <- msum_scal. apply (msum_ext E w0 fe ss c); [easy|]. intros e' O'.
  now apply (renorm_ok (ext c ss)).
Qed.

Lemma best_ok : forall c m js b w e, okc c w e -> same_m b m w e ->
  same_m (best N c m js b) m w e.
Proof.
  intros c m. induction js as [|j r IH]; intros b w e O B; simpl; [easy|].
  destruct (swaps j m) as [m'|] eqn:Q; [|auto]. apply IH; [easy|].
  destruct (less (arranged N c m') b); [|easy]. pose proof (arranged_ok c m' w e O) as A.
  unfold same_m in *. now rewrite A, (swaps_ok j m m').
Qed.

Lemma canon_ok : forall c m w e, okc c w e -> same_m (canon N c m) m w e.
Proof.
  intros c m w e O. unfold canon.
  assert (same_m (1%Q, m) m w e) as D by (unfold same_m; simpl; rewrite Q2R_one; ring).
  destruct (fst m); [easy|]. destruct Nat.ltb; [easy|]. apply best_ok; [easy|].
  now apply arranged_ok.
Qed.

Lemma fin_ok : forall c p w e, okc c w e -> peval (fin N c p) w e = peval p w e.
Proof.
  intros c p w e O. unfold fin.
  assert (forall acc, peval (fin_in N c p acc) w e = peval p w e + peval acc w e) as H.
  { induction p as [|[q m] p IH]; intros acc; simpl; [lra|].
    pose proof (canon_ok c m w e O) as A. destruct (canon N c m) as [q' m'].
    unfold same_m in A. simpl in A. rewrite IH, peval_insert, Q2R_red, Q2R_mult, <- A. ring. }
  rewrite H. simpl. lra.
Qed.

Lemma P_ok : forall c t w e, okc c w e -> peval (P N c t) w e = tv t w e.
Proof. intros. unfold P. rewrite fin_ok by easy. now apply HN. Qed.

Lemma minus_ok : forall p q w e, peval (minus p q) w e = peval p w e - peval q w e.
Proof. intros. unfold minus. rewrite peval_merge, peval_scale, Q2R_m1. lra. Qed.

(** ** Signs *)
Lemma all_nn_ok : forall c p w e, okc c w e -> all_nn K c p = true -> 0 <= peval p w e.
Proof.
  intros c p w e O. induction p as [|[q [ss fs]] p IH]; intros H; simpl in *; [lra|].
  rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3]. specialize (IH H3).
  apply Q2R_nonneg in H1.
  pose proof (is_nn_ok _ _ H2 (sgn_ok E w0 fe K HK _ c w e O)) as H.
  rewrite tv_mono, Q2R_one, Rmult_1_l in H.
  pose proof (Rmult_le_pos _ _ H1 H). lra.
Qed.

Lemma scale_sign : forall q p w e, 0 <= peval (pscale (Qinv (q_abs q)) p) w e ->
  Q2R q <> 0 -> 0 <= peval p w e.
Proof.
  intros q p w e H Z. rewrite peval_scale, Q2R_inv0, Q2R_abs in H.
  apply Rabs_pos_lt in Z. apply Rinv_0_lt_compat in Z.
  destruct (Rle_lt_dec 0 (peval p w e)) as [L|L]; [easy|].
  pose proof (Rmult_lt_compat_l _ _ _ Z L). lra.
Qed.

Lemma q_nonzero : forall q, Qeq_bool q 0 = false -> Q2R q <> 0.
Proof.
  intros q H Z. apply Qeq_bool_neq in H. apply H. apply eqR_Qeq. rewrite Z.
  unfold Q2R. simpl. lra.
Qed.

Lemma lead_ok : forall p, Q2R (lead p) <> 0.
Proof.
  intros [|[c m] p]; simpl; [rewrite Q2R_one; lra|].
  destruct (Qeq_bool c 0) eqn:Z; [rewrite Q2R_one; lra|now apply q_nonzero].
Qed.

Lemma plainly_nn_ok : forall c p w e, okc c w e -> plainly_nn K c p = true -> 0 <= peval p w e.
Proof.
  intros c p w e O H. unfold plainly_nn in H. rewrite !or_if, !orb_true_iff in H.
  destruct H as [H|[H|H]].
  - now apply (all_nn_ok c).
  - apply (is_nn_ok _ (tv (to_tm p) w e)) in H; [now rewrite tv_to_tm in H|].
    now apply sgn_ok.
  - apply (is_nn_ok _ (tv (to_tm (unit_lead p)) w e)) in H; [|now apply look_ok].
    rewrite tv_to_tm in H. apply (scale_sign (lead p)); [exact H|apply lead_ok].
Qed.

Lemma idx_ok : forall c i n w e, okc c w e -> idx_size c i = Some n ->
  exists v, e i = sc v /\ is_index (tv n w e) v.
Proof.
  induction c as [|x c IH]; intros i n w e O H; [now destruct i|].
  simpl in O. destruct O as [O X]. destruct i as [|i].
  - destruct x; simpl in H; try discriminate. injection H as <-.
    destruct X as (v & Ev & Iv). exists v. split; [easy|].
    unfold Poly.tv, lift. rewrite eval_ren. exact Iv.
  - destruct x; simpl in H; (destruct (idx_size c i) as [m|] eqn:Q; [|discriminate]; injection H as <-;
      destruct (IH i m w _ O Q) as (v & Ev & Iv); exists v; split; [exact Ev|];
      unfold Poly.tv, lift; rewrite eval_ren; exact Iv).
Qed.

Lemma low_shift : forall n low, is_int n -> is_int low -> low <= n ->
  is_nat (n - low) /\ low + (n - low) = n.
Proof. intros n low Hn Hl L. split; [split; [now apply int_minus|lra]|lra]. Qed.

Lemma size_of_dim : forall y n w e, is_size (tv (Free y KDim n) w e).
Proof.
  intros y n w e. unfold Poly.tv. simpl. destruct size_dec; [easy|]. split; [apply int_IZR|lra].
Qed.

Lemma lows_ok : forall c y n p low w e, okc c w e -> In low (lows K c (Free y KDim n) p) ->
  exists v, (forall w' l, eval E w0 fe low w' e l = v) /\ is_int v /\
    v <= tv (Free y KDim n) w e.
Proof.
  intros c y n p low w e O I. pose proof (size_of_dim y n w e) as [Si S1].
  destruct I as [<- | I].
  - exists 1. split; [reflexivity|]. split; [apply int_IZR|easy].
  - apply in_flat_map in I. destruct I as (t & _ & I). destruct t; try contradiction.
    + destruct k; try contradiction.
      destruct (teqb t (Free y KDim n) && is_pos (sgn K [] t)) eqn:Q; [|contradiction].
      apply andb_true_iff in Q. destruct Q as [Q1 Q2]. apply teqb_eq in Q1. subst.
      destruct I as [<- | []].
      set (v := tv (Free x KFin (Free y KDim n)) w e).
      exists (v + 1). split; [reflexivity|].
      assert (is_index (tv (Free y KDim n) w e) v) as (Iv & _ & L).
      { unfold v, Poly.tv. simpl. destruct index_dec as [X|X]; [exact X|].
        split; [apply int_0|]. unfold Poly.tv in S1. simpl in S1. lra. }
      split; [apply int_plus; [easy|apply int_IZR]|]. now apply int_gap.
    + destruct (idx_size c i) as [m|] eqn:Q; [|contradiction].
      destruct (teqb m (Free y KDim n)) eqn:T; [|contradiction]. apply teqb_eq in T. subst.
      destruct I as [<- | []]. destruct (idx_ok c i _ w e O Q) as (v & Ev & Iv & _ & L).
      exists (v + 1). split; [intros; simpl; now rewrite Ev|].
      split; [apply int_plus; [easy|apply int_IZR]|]. now apply int_gap.
Qed.

Lemma nonneg_ok : forall f c p w e, okc c w e -> nonneg K N f c p = true -> 0 <= peval p w e.
Proof.
  induction f as [|f IH]; intros c p w e O H; cbn [nonneg] in H; rewrite or_if in H;
    apply orb_true_iff in H;
    (destruct H as [H|H]; [now apply (plainly_nn_ok c)|]); [discriminate|].
  apply existsb_exists in H. destruct H as (x & _ & H).
  destruct x as [| |y k n| | | | | | | | | | | | | | | | | | | | |]; try discriminate.
  destruct k; try discriminate. apply existsb_exists in H. destruct H as (low & I & H).
  destruct (lows_ok c y n p low w e O I) as (v & Ev & Iv & L).
  set (s := tv (Free y KDim n) w e) in *.
  destruct (low_shift s v (proj1 (size_of_dim y n w e)) Iv L) as [Ns Es].
  assert (okc (CNat :: c) w (scons (sc (s - v)) e)) as O'.
  { simpl. split; [exact O|]. now exists (s - v). }
  apply (IH _ _ w (scons (sc (s - v)) e) O') in H.
  rewrite fin_ok, HN in H by exact O'.
  unfold Poly.tv in H. rewrite (rep_ok y KDim n _ _ _ _ _ s) in H.
  - rewrite eval_lift in H. now rewrite <- (tv_to_tm E w0 fe p w e).
  - intros w' l'. simpl. rewrite eval_lift, Ev. unfold sc. lra.
  - reflexivity.
Qed.

Lemma nn_ok : forall c p w e, okc c w e -> nn K N c p = true -> 0 <= peval p w e.
Proof. intros c p w e. apply nonneg_ok. Qed.

Lemma natural_ok : forall c n w e, okc c w e -> natural K N c n = true -> is_nat (tv n w e).
Proof.
  intros c n w e O H. unfold natural in H. rewrite and_if in H.
  apply andb_true_iff in H. destruct H as [H1 H2].
  apply (intp_ok E w0 fe K HK _ c w e O) in H1. apply (nn_ok c _ w e O) in H2.
  rewrite P_ok in H1, H2 by easy. now split.
Qed.

Lemma same_size : forall c m n w e, okc c w e ->
  match fin N c (minus (N c m) (N c n)) with [] => true | _ => false end = true ->
  tv m w e = tv n w e.
Proof.
  intros c m n w e O H. pose proof (fin_ok c (minus (N c m) (N c n)) w e O) as F.
  destruct (fin N c (minus (N c m) (N c n))); [|discriminate].
  rewrite minus_ok, !HN in F by easy. simpl in F. lra.
Qed.

Lemma within_ok : forall c k n w e, okc c w e -> within K N c k n = true ->
  is_index (tv n w e) (tv k w e).
Proof.
  intros c k n w e O H. unfold within in H. rewrite or_if in H.
  apply orb_true_iff in H. destruct H as [H|H].
  - destruct k as [p q| |x q m|i| | | | | | | | | | | | | | | | | | | |]; try discriminate.
    + destruct q; try discriminate. rewrite !andb_true_iff in H. destruct H as [[[C1 C2] H1] H2].
      apply (same_size c _ _ w e O) in H2. rewrite <- H2.
      pose proof (is_pos_ok _ _ H1 (sgn_ok E w0 fe K HK m [] w0 e0 steady_e0)) as H.
      rewrite tv_rest by easy. unfold Poly.tv in *. simpl.
      destruct index_dec as [X|X]; [exact X|]. split; [apply int_0|lra].
    + destruct (idx_size c i) as [m|] eqn:Q; [|discriminate].
      apply (same_size c _ _ w e O) in H. rewrite <- H.
      destruct (idx_ok c i m w e O Q) as (v & Ev & Iv). unfold Poly.tv in *. simpl.
      now rewrite Ev.
  - rewrite !and_if, !andb_true_iff in H. destruct H as (H1 & H2 & H3).
    apply (intp_ok E w0 fe K HK _ c w e O) in H1. apply (nn_ok c _ w e O) in H2.
    apply (nn_ok c _ w e O) in H3. rewrite P_ok in H1, H2 by easy.
    rewrite fin_ok, !minus_ok, P_ok, HN, peval_const, Q2R_one in H3 by easy.
    split; [easy|]. lra.
Qed.
(** ** Products *)
Lemma cancel_ok : forall c inv rest w e, okc c w e ->
  fprod (cancel K c inv rest) w e
  = fprod (map (fun uj => (Inv (fst uj), snd uj)) inv) w e * fprod rest w e.
Proof.
  intros c inv. induction inv as [|[u j] r IH]; intros rest w e O; cbn [cancel map fst snd];
    [simpl; ring|].
  cbn [Poly.fprod]. assert (tv (Inv u) w e = / tv u w e) as V by reflexivity. rewrite V.
  destruct (Nat.eqb (fget u rest) 0) eqn:Q1.
  { rewrite fprod_insert, IH, V by easy. ring. }
  apply Nat.eqb_neq in Q1. rewrite (fget_ok u rest w e). set (k := fget u rest) in *.
  destruct (Nat.eqb j 0) eqn:Q2.
  { apply Nat.eqb_eq in Q2. subst j. rewrite IH, (fget_ok u rest w e) by easy. fold k. simpl. ring. }
  apply Nat.eqb_neq in Q2.
  destruct (Nat.ltb j k) eqn:Q3.
  { apply Nat.ltb_lt in Q3. rewrite IH, fprod_insert by easy.
    rewrite <- (pow_cancel (tv u w e) j k) by lia. ring. }
  apply Nat.ltb_ge in Q3.
  destruct (Nat.ltb k j) eqn:Q4.
  { apply Nat.ltb_lt in Q4. rewrite fprod_insert, IH, V by easy.
    rewrite <- (pow_cancel' (tv u w e) j k) by lia. ring. }
  apply Nat.ltb_ge in Q4. replace j with k by lia.
  pose proof (pow_pair (tv u w e) k ltac:(lia)) as Pk.
  destruct (is_nz (sgn K c u)) eqn:Q5.
  - rewrite IH by easy.
    pose proof (is_nz_ok _ _ Q5 (sgn_ok E w0 fe K HK u c w e O)) as Z.
    rewrite Rinv_l in Pk by exact Z.
    transitivity ((/ tv u w e) ^ k * tv u w e ^ k
      * (fprod (map (fun uj => (Inv (fst uj), snd uj)) r) w e * fprod (fdel u rest) w e)).
    + rewrite Pk. ring.
    + ring.
  - rewrite !fprod_insert, IH, V by easy. simpl pow at 1 2.
    transitivity ((/ tv u w e) ^ k * tv u w e ^ k
      * (fprod (map (fun uj => (Inv (fst uj), snd uj)) r) w e * fprod (fdel u rest) w e)).
    + rewrite Pk. ring.
    + ring.
Qed.

Lemma split_inverses : forall fs w e, fprod fs w e
  = fprod (map (fun uj => (Inv (fst uj), snd uj)) (inverses fs)) w e * fprod (others fs) w e.
Proof.
  intros fs w e. induction fs as [|[t k] fs IH]; [simpl; ring|].
  cbn [Poly.fprod]. rewrite IH.
  destruct t; cbn [inverses others map fst snd Poly.fprod]; ring.
Qed.

Lemma fcancel_ok : forall c fs w e, okc c w e -> fprod (fcancel K c fs) w e = fprod fs w e.
Proof.
  intros c fs w e O. unfold fcancel. destruct (inverses fs) eqn:Q; [easy|].
  rewrite cancel_ok by easy. rewrite (split_inverses fs), Q. easy.
Qed.

Lemma inv_atom_ok : forall c t w e, okc c w e -> peval (inv_atom N c t) w e = / tv t w e.
Proof.
  intros c t w e O. assert (peval (patom (Inv t)) w e = / tv t w e) as D
    by (rewrite peval_atom; reflexivity).
  destruct t; try exact D; unfold inv_atom.
  - rewrite HN by easy. unfold Poly.tv. simpl. now rewrite Rinv_inv.
  - destruct f; try exact D. rewrite peval_atom. unfold Poly.tv at 1. simpl.
    pose proof (tv_to_tm E w0 fe (fin N c (pscale (-1) (N c t))) w e) as T.
    unfold Poly.tv at 1 in T. rewrite T, fin_ok, peval_scale, Q2R_m1, HN by easy.
    unfold Poly.tv. simpl. rewrite <- exp_Ropp. f_equal. ring.
  - rewrite peval_atom. unfold Poly.tv. simpl.
    destruct (delta_01 (eval E w0 fe t1 w e []) (eval E w0 fe t2 w e [])) as [-> | ->].
    + now rewrite Rinv_0.
    + now rewrite Rinv_1.
Qed.

Lemma inv_fs_ok : forall c fs w e, okc c w e -> peval (inv_fs N c fs) w e = / fprod fs w e.
Proof.
  intros c fs w e O. induction fs as [|[t k] fs IH]; cbn [inv_fs Poly.fprod].
  - rewrite peval_const, Q2R_one. now rewrite Rinv_1.
  - rewrite peval_mul, ppow_ok, inv_atom_ok, IH, Rinv_mult', pow_inv' by easy. ring.
Qed.

Lemma monic_ok : forall p w e, Q2R (lead p) * peval (monic p) w e = peval p w e.
Proof.
  intros p w e. unfold monic. rewrite peval_scale, Q2R_inv0. pose proof (lead_ok p). field. easy.
Qed.
Lemma tv_inv : forall t w e, tv (Inv t) w e = / tv t w e.
Proof. reflexivity. Qed.

Lemma pinv_ok : forall c p w e, okc c w e -> peval (pinv N c p) w e = / peval p w e.
Proof.
  intros c p w e O.
  assert (peval (pscale (Qinv (lead p)) (patom (Inv (to_tm (monic p))))) w e = / peval p w e) as D.
  { rewrite peval_scale, peval_atom, Q2R_inv0, tv_inv, tv_to_tm, <- (monic_ok p), Rinv_mult'.
    reflexivity. }
  unfold pinv. destruct p as [|[q [[|s ss] fs]] [|? ?]]; try exact D.
  - simpl. now rewrite Rinv_0.
  - rewrite peval_scale, inv_fs_ok, Q2R_inv0 by easy. simpl. unfold Poly.meval. simpl.
    now rewrite Rplus_0_r, Rinv_mult'.
Qed.

Lemma pzpow_ok : forall c p z w e, okc c w e -> peval (pzpow N c p z) w e = powerRZ (peval p w e) z.
Proof.
  intros c p z w e O. destruct z as [|k|k]; unfold pzpow, powerRZ.
  - rewrite peval_const. apply Q2R_one.
  - apply ppow_ok.
  - now rewrite ppow_ok, pinv_ok, fin_ok, pow_inv' by easy.
Qed.

Lemma exp_ln_pow : forall x z, 0 < x -> exp (IZR z * ln x) = powerRZ x z.
Proof.
  intros x z H. destruct z as [|k|k]; unfold powerRZ.
  - rewrite Rmult_0_l. apply exp_0.
  - rewrite <- (positive_nat_Z k), <- INR_IZR_INZ. now apply Rpower_pow.
  - change (Zneg k) with (- Zpos k)%Z. rewrite opp_IZR, <- (positive_nat_Z k), <- INR_IZR_INZ.
    replace (- INR (Pos.to_nat k) * ln x) with (- (INR (Pos.to_nat k) * ln x)) by ring.
    rewrite exp_Ropp. f_equal. now apply Rpower_pow.
Qed.

Lemma log_of_ok : forall q m z x r w e, log_of (q, m) = Some (z, x, r) ->
  Q2R q * meval m w e = IZR z * ln (tv x w e) + peval r w e.
Proof.
  intros q [ss fs] z x r w e H. unfold log_of in H.
  destruct ss; [|discriminate]. destruct fs as [|[t k] [|? ?]]; try discriminate;
    [|destruct t; try discriminate; destruct f; try discriminate; destruct k as [|[|k]]; discriminate].
  destruct t; try discriminate. destruct f; try discriminate.
  destruct k as [|[|k]]; try discriminate. cbn [snd] in H. injection H as <- <- <-.
  set (z := Z.quot _ _). set (part := Qred (q - inject_Z z)).
  assert (Q2R part = Q2R q - IZR z) as R0.
  { unfold part. rewrite Q2R_red, Qreals.Q2R_minus. f_equal. unfold Q2R, inject_Z. simpl. field. }
  clearbody part z. unfold Poly.meval. simpl. unfold Poly.tv.
  destruct (Qeq_bool part 0) eqn:Z0.
  - apply Qeq_bool_iff, Qreals.Qeq_eqR in Z0. rewrite R0 in Z0. unfold Q2R in Z0 at 2. simpl in *.
    replace (Q2R q) with (IZR z) by lra. ring.
  - simpl. rewrite R0. unfold Poly.meval. simpl. unfold Poly.tv. simpl. ring.
Qed.

Lemma peval_app : forall p q w e, peval (p ++ q) w e = peval p w e + peval q w e.
Proof.
  intros p q w e. induction p as [|cm p IH]; simpl; [ring|]. destruct cm. rewrite IH. ring.
Qed.

Lemma exp_parts_ok : forall c p out rest w e, okc c w e -> exp_parts K N c p = (out, rest) ->
  exp (peval p w e) = peval out w e * exp (peval rest w e).
Proof.
  intros c. induction p as [|[q m] p IH]; intros out rest w e O H; cbn [exp_parts] in H.
  - injection H as <- <-. rewrite peval_const, Q2R_one. simpl. ring.
  - destruct (exp_parts K N c p) as [o r] eqn:Q. specialize (IH o r w e O eq_refl).
    assert ((o, (q, m) :: r) = (out, rest) ->
      exp (peval ((q, m) :: p) w e) = peval out w e * exp (peval rest w e)) as D.
    { intros X. injection X as <- <-. cbn [Poly.peval]. rewrite !exp_plus, IH. ring. }
    destruct (log_of (q, m)) as [[[z x] part]|] eqn:L; [|auto].
    destruct (is_pos (sgn K c x)) eqn:S; [|auto]. injection H as <- <-.
    cbn [Poly.peval].
    rewrite peval_app, !exp_plus, (log_of_ok q m z x part w e L), exp_plus, IH, peval_mul, pzpow_ok,
      HN by easy.
    rewrite exp_ln_pow; [ring|]. apply (is_pos_ok _ _ S). now apply sgn_ok.
Qed.

Lemma tv_fn : forall f t w e, tv (Fn f t) w e = apply_fn f (tv t w e).
Proof. reflexivity. Qed.

Lemma pexp_ok : forall c p w e, okc c w e -> peval (pexp K N c p) w e = exp (peval p w e).
Proof.
  intros c p w e O. unfold pexp. destruct (exp_parts K N c p) as [out rest] eqn:Q.
  rewrite (exp_parts_ok c p out rest w e O Q). destruct rest as [|cm rest].
  - simpl. rewrite exp_0. ring.
  - rewrite peval_mul, peval_atom, tv_fn, tv_to_tm. reflexivity.
Qed.

Lemma delta_vars_ok : forall t v u, delta_vars t = Some (v, u) ->
  exists x y, t = Delta (Add x (Mul (Num (-1) 1) y)) (Num 0 1) /\
    ((v = x /\ u = y) \/ (v = y /\ u = x)) /\
    match v with Free _ _ _ | Bound _ => True | _ => False end /\
    match u with Free _ _ _ | Bound _ => True | _ => False end /\
    match v, u with Free _ _ _, Bound _ => False | _, _ => True end.
Proof.
  intros t v u H. unfold delta_vars in H.
  destruct t; try discriminate. destruct t1; try discriminate. destruct t1_2; try discriminate.
  destruct t1_2_1; try discriminate. destruct p; try discriminate. destruct p; try discriminate.
  destruct q; try discriminate. destruct t2; try discriminate. destruct p; try discriminate.
  destruct q; try discriminate.
  exists t1_1, t1_2_2.
  destruct t1_1, t1_2_2; try discriminate; injection H as <- <-; intuition.
Qed.

Lemma put_ok : forall v u t w e, 
  match v with Free _ _ _ | Bound _ => True | _ => False end ->
  match u with Free _ _ _ | Bound _ => True | _ => False end ->
  match v, u with Free _ _ _, Bound _ => False | _, _ => True end ->
  steady e -> (match v with Bound i => exists x, e i = sc x | _ => True end) ->
  tv v w e = tv u w e -> forall l, eval E w0 fe (put v u t) w e l = eval E w0 fe t w e l.
Proof.
  intros v u t w e Hv Hu Hvu St Sv H l. destruct v; try contradiction.
  - destruct u; try contradiction. cbn [put]. apply (rep_ok x k v _ _ w e l (tv (Free x0 k0 u) w e)).
    + reflexivity.
    + exact H.
  - cbn [put]. rewrite eval_sub. f_equal. apply functional_extensionality. intros j.
    destruct (Nat.eqb j i) eqn:Q; [|reflexivity]. apply Nat.eqb_eq in Q. subst j.
    destruct Sv as [x Sx]. apply functional_extensionality. intros w'.
    apply functional_extensionality. intros l'. rewrite Sx.
    unfold Poly.tv in H. simpl in H. rewrite Sx in H. unfold sc in *. cbn [vval].
    rewrite H. destruct u; try contradiction; simpl; [reflexivity|apply St].
Qed.
Lemma indexed_ok : forall c i w e, okc c w e -> indexed c (Bound i) = true -> exists x, e i = sc x.
Proof.
  induction c as [|x c IH]; intros i w e O H; unfold indexed in *.
  - now destruct i.
  - simpl in O. destruct O as [O X]. destruct i as [|i]; simpl in H.
    + destruct x; try discriminate; destruct X as (v & -> & _); now exists v.
    + apply (IH i w _ O H).
Qed.

Lemma put_fs_ok : forall c v u fs w e, okc c w e ->
  match v with Free _ _ _ | Bound _ => True | _ => False end ->
  match u with Free _ _ _ | Bound _ => True | _ => False end ->
  match v, u with Free _ _ _, Bound _ => False | _, _ => True end ->
  indexed c v = true -> tv v w e = tv u w e -> peval (put_fs N c v u fs) w e = fprod fs w e.
Proof.
  intros c v u fs w e O Hv Hu Hvu I H. induction fs as [|[t k] fs IH]; cbn [put_fs Poly.fprod].
  - rewrite peval_const. apply Q2R_one.
  - rewrite peval_mul, ppow_ok, HN, IH by easy. f_equal. f_equal.
    apply put_ok; try easy; [now apply (okc_steady E w0 fe c w)|].
    destruct v; try easy. now apply (indexed_ok c i w e).
Qed.

Lemma delta_fs : forall c t k v u fs w e, okc c w e -> delta_vars t = Some (v, u) ->
  indexed c v = true -> (0 < k)%nat ->
  tv t w e ^ k * peval (put_fs N c v u fs) w e = tv t w e ^ k * fprod fs w e.
Proof.
  intros c t k v u fs w e O H I Hk. destruct (delta_vars_ok t v u H) as (x & y & -> & V & A & B & C).
  assert (tv (Delta (Add x (Mul (Num (-1) 1) y)) (Num 0 1)) w e = delta (tv x w e - tv y w e) 0) as T.
  { unfold Poly.tv. simpl. unfold number. f_equal. ring. }
  rewrite T. unfold delta. destruct Req_EM_T as [Z|Z].
  - f_equal. apply put_fs_ok; try easy. destruct V as [[-> ->]|[-> ->]]; lra.
  - rewrite pow_i by easy. ring.
Qed.

Lemma find_exp_ok : forall fs a j l w e, find_exp fs = Some (a, j, l) ->
  fprod fs w e = exp (tv a w e) ^ j * fprod l w e.
Proof.
  induction fs as [|[t k] fs IH]; intros a j l w e H; cbn [find_exp] in H; [discriminate|].
  assert (match find_exp fs with Some (a, k0, l) => Some (a, k0, (t, k) :: l) | None => None end
    = Some (a, j, l) -> fprod ((t, k) :: fs) w e = exp (tv a w e) ^ j * fprod l w e) as D.
  { destruct (find_exp fs) as [[[a' j'] l']|]; [|discriminate]. intros X. injection X as <- <- <-.
    cbn [Poly.fprod]. rewrite (IH a' j' l' w e eq_refl). ring. }
  destruct t; auto. destruct f; auto. injection H as <- <- <-. cbn [Poly.fprod].
  now rewrite tv_fn.
Qed.

Lemma fprod_rev : forall a b w e, fprod (rev_append a b) w e = fprod a w e * fprod b w e.
Proof.
  induction a as [|[t k] a IH]; intros b w e; cbn [rev_append Poly.fprod]; [ring|].
  rewrite IH. cbn [Poly.fprod]. ring.
Qed.

Lemma exp_pow : forall x k, exp x ^ k = exp (INR k * x).
Proof.
  intros x k. induction k as [|k IH]; [simpl; now rewrite Rmult_0_l, exp_0|].
  rewrite S_INR. cbn [pow]. rewrite IH, <- exp_plus. f_equal. ring.
Qed.

Lemma abs_even : forall x k, Nat.even k = true -> Rabs x ^ k = x ^ k.
Proof.
  intros x k H. apply Nat.even_spec in H. destruct H as [j ->]. rewrite !pow_mult. f_equal.
  simpl. rewrite !Rmult_1_r. rewrite <- Rabs_mult. apply Rabs_pos_eq, Rle_0_sqr.
Qed.

Lemma sqrt_pow : forall x k, 0 <= x ->
  sqrt x ^ k = x ^ Nat.div2 k * (if Nat.odd k then sqrt x else 1).
Proof.
  intros x k H. rewrite (Nat.div2_odd k) at 1. rewrite pow_add, pow_mult.
  f_equal; [f_equal; simpl; rewrite Rmult_1_r; now apply sqrt_sqrt|].
  destruct (Nat.odd k); simpl; ring.
Qed.

Lemma sqrt_inv_pow : forall x k, 0 <= x -> (0 < k)%nat ->
  (/ sqrt x) ^ k = (/ x) ^ half_up k * (if Nat.odd k then sqrt x else 1).
Proof.
  unfold half_up.
  intros x k H Hk. destruct H as [H | <-].
  - assert (0 < sqrt x) as Sp by now apply sqrt_lt_R0.
    assert (/ x = / sqrt x * / sqrt x) as I by (rewrite <- Rinv_mult, sqrt_sqrt; lra).
    rewrite I. rewrite (Nat.div2_odd k) at 1.
    destruct (Nat.odd k) eqn:D.
    + replace (Nat.div2 (S k)) with (S (Nat.div2 k)).
      * rewrite Rpow_mult_distr. rewrite pow_add, pow_mult. cbn [Nat.b2n pow].
        rewrite !Rmult_1_r, Rpow_mult_distr. field. lra.
      * apply Nat.odd_spec in D. destruct D as [m ->]. rewrite Nat.add_1_r, Nat.div2_succ_double.
        change (S (S (2 * m))) with (2 + 2 * m)%nat. simpl Nat.div2.
        replace (m + (m + 0))%nat with (2 * m)%nat by lia. now rewrite Nat.div2_double.
    + replace (Nat.div2 (S k)) with (Nat.div2 k).
      * rewrite pow_add, pow_mult. cbn [Nat.b2n pow]. rewrite !Rmult_1_r, !Rpow_mult_distr. ring.
      * assert (Nat.even k = true) as Ev by (rewrite <- Nat.negb_odd, D; easy).
        apply Nat.even_spec in Ev. destruct Ev as [m ->].
        now rewrite Nat.div2_succ_double, Nat.div2_double.
  - rewrite sqrt_0, Rinv_0. assert (exists j, Nat.div2 (S k) = S j) as [j ->].
    { destruct k; [lia|]. simpl. now exists (Nat.div2 k). }
    rewrite !pow_i by lia. ring.
Qed.

Lemma law_ok : forall c fs acc rest extra w e, okc c w e -> law K N c acc fs = Some (rest, extra) ->
  fprod rest w e * peval extra w e = fprod acc w e * fprod fs w e.
Proof.
  intros c. induction fs as [|[t k] fs IH]; intros acc rest extra w e O H; cbn [law] in H;
    [discriminate|].
  assert (law K N c ((t, k) :: acc) fs = Some (rest, extra) ->
    fprod rest w e * peval extra w e = fprod acc w e * fprod ((t, k) :: fs) w e) as D.
  { intros X. apply (IH _ _ _ w e O) in X. rewrite X. cbn [Poly.fprod]. ring. }
  cbn [Poly.fprod].
  destruct t; auto.
  - (* inverses of roots *) destruct t; auto. destruct f; auto.
    destruct (Nat.ltb 0 k && is_nn (sgn K c t)) eqn:Q; [|auto].
    apply andb_true_iff in Q. destruct Q as [Q0 Q]. apply Nat.ltb_lt in Q0. injection H as <- <-.
    pose proof (is_nn_ok _ _ Q (sgn_ok E w0 fe K HK t c w e O)) as S.
    rewrite fprod_rev, peval_mul, ppow_ok, pinv_ok, fin_ok, HN, tv_inv, tv_fn by easy.
    cbn [apply_fn]. rewrite (sqrt_inv_pow _ k S Q0).
    destruct (Nat.odd k); [rewrite peval_atom, tv_fn|rewrite peval_const, Q2R_one];
      cbn [apply_fn]; ring.
  - (* functions *) destruct f; auto.
    + (* exp *) destruct (find_exp fs) as [[[b j] l]|] eqn:F.
      * injection H as <- <-.
        rewrite pexp_ok, fin_ok, peval_merge, !peval_scale, !Q2R_inject, !HN by easy.
        rewrite fprod_rev, (find_exp_ok fs b j l w e F), tv_fn. cbn [apply_fn].
        rewrite !exp_pow, exp_plus, !INR_IZR_INZ. ring.
      * destruct (Nat.ltb 1 k); [|auto]. injection H as <- <-.
        rewrite pexp_ok, fin_ok, peval_scale, Q2R_inject, HN, fprod_rev, tv_fn by easy.
        cbn [apply_fn]. rewrite exp_pow, INR_IZR_INZ. ring.
    + (* sqrt *) destruct (Nat.ltb 1 k && is_nn (sgn K c t)) eqn:Q; [|auto].
      apply andb_true_iff in Q. destruct Q as [_ Q]. injection H as <- <-.
      pose proof (is_nn_ok _ _ Q (sgn_ok E w0 fe K HK t c w e O)) as S.
      rewrite fprod_rev, peval_mul, ppow_ok, HN, tv_fn by easy. cbn [apply_fn].
      rewrite (sqrt_pow _ k S).
      destruct (Nat.odd k); [rewrite peval_atom, tv_fn|rewrite peval_const, Q2R_one];
        cbn [apply_fn]; ring.
    + (* abs *) destruct (Nat.even k && Nat.ltb 1 k) eqn:Q; [|auto].
      apply andb_true_iff in Q. destruct Q as [Q _]. injection H as <- <-.
      rewrite fprod_rev, ppow_ok, HN, tv_fn by easy. cbn [apply_fn].
      rewrite abs_even by easy. ring.
  - (* delta *) destruct (Nat.ltb 1 k) eqn:Q.
    + injection H as <- <-. rewrite fprod_rev, peval_atom. apply Nat.ltb_lt in Q.
      assert (tv (Delta t1 t2) w e ^ k = tv (Delta t1 t2) w e) as ->; [|ring].
      unfold Poly.tv. simpl eval.
      destruct (delta_01 (eval E w0 fe t1 w e []) (eval E w0 fe t2 w e [])) as [-> | ->];
        [apply pow_i; lia|apply pow1].
    + destruct (Nat.eqb k 0) eqn:Z; [auto|]. apply Nat.eqb_neq in Z.
      destruct (delta_vars (Delta t1 t2)) as [[v u]|] eqn:V; [|auto].
      destruct (unchanged v u (rev_append acc fs) || negb (indexed c v)) eqn:U; [auto|].
      apply orb_false_iff in U. destruct U as [_ U]. apply negb_false_iff in U.
      injection H as <- <-. cbn [Poly.fprod].
      rewrite Rmult_1_r, (delta_fs c (Delta t1 t2) k v u _ w e O V U) by lia.
      rewrite fprod_rev. ring.
Qed.

Lemma psimp_with_ok : forall F c p w e, okc c w e ->
  (forall c' fs e', okc c' w e' -> peval (F c' fs) w e' = fprod fs w e') ->
  peval (psimp_with F c p) w e = peval p w e.
Proof.
  intros F c p w e O H. induction p as [|[q [ss fs]] p IH]; cbn [psimp_with Poly.peval]; [easy|].
  rewrite peval_merge, peval_scale, peval_wrap, IH. f_equal. f_equal.
  unfold Poly.meval. cbn [fst snd]. apply (msum_ext E w0 fe ss c); [easy|].
  intros e' O'. now apply H.
Qed.

Lemma single : forall fs w e, peval [(1%Q, ([], fs))] w e = fprod fs w e.
Proof. intros. simpl. unfold Poly.meval. simpl. rewrite Q2R_one. ring. Qed.

Lemma fsimp_ok : forall f c fs w e, okc c w e -> peval (fsimp K N f c fs) w e = fprod fs w e.
Proof.
  induction f as [|f IH]; intros c fs w e O; cbn [fsimp].
  - now rewrite single, fcancel_ok.
  - destruct (law K N c [] (fcancel K c fs)) as [[rest extra]|] eqn:L.
    + rewrite psimp_with_ok by auto. rewrite peval_mul, single.
      rewrite (law_ok c _ _ rest extra w e O L), fcancel_ok by easy. simpl. ring.
    + now rewrite single, fcancel_ok.
Qed.

Lemma psimp_ok : forall c p w e, okc c w e -> peval (psimp K N c p) w e = peval p w e.
Proof. intros c p w e O. apply psimp_with_ok; [easy|]. intros. now apply fsimp_ok. Qed.

(** ** Sums *)
Lemma split_last_ok : forall ss a n, split_last ss = Some (a, n) -> ss = a ++ [n].
Proof.
  induction ss as [|m ss IH]; intros a n H; [discriminate|]. cbn [split_last] in H.
  destruct ss as [|m' ss]; [now injection H as <- <-|].
  destruct (split_last (m' :: ss)) as [[a' b']|] eqn:Q; [|discriminate]. injection H as <- <-.
  simpl. now rewrite (IH a' b' eq_refl).
Qed.

Lemma lower_ok : forall t t' w v e, lower t = Some t' -> tv t w (scons v e) = tv t' w e.
Proof.
  intros t t' w v e H. unfold lower in H.
  destruct (teqb (lift (ren pred t)) t) eqn:Q; [|discriminate]. injection H as <-.
  apply teqb_eq in Q. rewrite <- Q at 1. unfold Poly.tv. apply eval_lift.
Qed.

Lemma lower_fs_ok : forall fs gs w v e, lower_fs fs = Some gs ->
  fprod fs w (scons v e) = fprod gs w e.
Proof.
  induction fs as [|[t k] fs IH]; intros gs w v e H; cbn [lower_fs] in H.
  - now injection H as <-.
  - destruct (lower t) as [t'|] eqn:L; [|discriminate].
    destruct (lower_fs fs) as [r'|] eqn:R; [|discriminate]. injection H as <-.
    cbn [Poly.fprod]. now rewrite (lower_ok t t' w v e L), (IH r' w v e eq_refl).
Qed.

Lemma take_index_ok : forall d q r w e, take_index d = Some (q, r) ->
  peval d w e = Q2R q * tv (Bound 0) w e + peval r w e.
Proof.
  induction d as [|[p m] d IH]; intros q r w e H; cbn [take_index] in H; [discriminate|].
  destruct (meqb m ([], [(Bound 0, 1%nat)])) eqn:Q.
  - apply meqb_eq in Q. injection H as <- <-. subst. cbn [Poly.peval]. unfold Poly.meval. simpl.
    ring.
  - destruct (take_index d) as [[q' r']|]; [|discriminate]. injection H as <- <-.
    cbn [Poly.peval]. rewrite (IH q' r' w e eq_refl). ring.
Qed.

Lemma solve_ok : forall c n a b k w e, okc c w e -> solve K N c n a b = Some k ->
  still k = true /\ is_index (tv n w e) (tv k w e) /\
  forall v, is_index (tv n w e) v ->
    tv (Delta a b) w (scons (sc v) e) = delta v (tv k w e).
Proof.
  intros c n a b k w e O H. unfold solve in H.
  destruct (take_index (fin N (CIdx n :: c) (minus (N (CIdx n :: c) a) (N (CIdx n :: c) b))))
    as [[q r]|] eqn:T; [|discriminate].
  destruct (Qeq_bool q 0) eqn:Z; [discriminate|]. apply q_nonzero in Z.
  destruct (lower (to_tm (fin N (CIdx n :: c) (pscale (Qopp (Qinv q)) r)))) as [k'|] eqn:L;
    [|discriminate].
  destruct (still k' && within K N c k' n) eqn:W; [|discriminate]. injection H as <-.
  apply andb_true_iff in W. destruct W as [S W].
  split; [easy|]. split; [now apply (within_ok c)|]. intros v Iv.
  pose proof (okc_idx E w0 fe c w e n v O Iv) as O'.
  apply (take_index_ok _ q r w (scons (sc v) e)) in T.
  rewrite fin_ok, minus_ok, !HN in T by exact O'.
  pose proof (lower_ok _ k' w (sc v) e L) as Lk.
  rewrite tv_to_tm, fin_ok, peval_scale, Q2R_opp', Q2R_inv0 in Lk by exact O'.
  change (tv (Bound 0) w (scons (sc v) e)) with v in T.
  change (tv (Delta a b) w (scons (sc v) e))
    with (delta (tv a w (scons (sc v) e)) (tv b w (scons (sc v) e))).
  apply delta_iff. rewrite <- Lk. clear Lk.
  set (r' := peval r w (scons (sc v) e)) in *.
  set (A := tv a w (scons (sc v) e)) in *. set (B := tv b w (scons (sc v) e)) in *.
  clearbody r' A B.
  assert (Q2R q * (- / Q2R q * r') = - r') as C by (field; easy).
  split; intros X.
  - apply (Rmult_eq_reg_l (Q2R q)); [|easy]. rewrite C.
    assert (Q2R q * v + r' = 0) as Y by (rewrite <- T, X; ring).
    apply (Rplus_eq_reg_r r'). rewrite Y. ring.
  - rewrite X, C in T. apply Rminus_diag_uniq. rewrite T. ring.
Qed.

Lemma inst_fs_ok : forall c k fs w e, okc c w e -> still k = true ->
  peval (inst_fs N c k fs) w e = fprod fs w (scons (sc (tv k w e)) e).
Proof.
  intros c k fs w e O S. induction fs as [|[t j] fs IH]; cbn [inst_fs Poly.fprod].
  - rewrite peval_const. apply Q2R_one.
  - rewrite peval_mul, ppow_ok, HN, IH by easy. f_equal. f_equal.
    unfold Poly.tv. rewrite eval_inst. f_equal. f_equal.
    apply functional_extensionality. intros w'. apply functional_extensionality. intros l.
    cbn [vval]. unfold sc. apply eval_still; [easy|]. now apply (okc_steady E w0 fe c w).
Qed.

Lemma contract_ok : forall c n fs acc p w e, okc c w e ->
  contract K N c n acc fs = Some p ->
  peval p w e = Sum (tv n w e) (fun v => fprod acc w (scons (sc v) e) * fprod fs w (scons (sc v) e)).
Proof.
  intros c n. induction fs as [|[t j] fs IH]; intros acc p w e O H; cbn [contract] in H;
    [discriminate|].
  assert (contract K N c n ((t, j) :: acc) fs = Some p -> peval p w e = Sum (tv n w e) (fun v =>
    fprod acc w (scons (sc v) e) * fprod ((t, j) :: fs) w (scons (sc v) e))) as D.
  { intros X. rewrite (IH _ _ w e O X). apply Sum_ext. intros v _. cbn [Poly.fprod]. ring. }
  destruct t; auto. destruct j as [|j]; auto.
  destruct (solve K N c n t1 t2) as [k|] eqn:So; [|auto].
  injection H as <-. destruct (solve_ok c n t1 t2 k w e O So) as (Sk & Ik & Dk).
  rewrite inst_fs_ok, fprod_rev by easy.
  rewrite <- (Sum_delta (tv n w e) (tv k w e)
    (fun v => fprod acc w (scons (sc v) e) * fprod fs w (scons (sc v) e)) Ik).
  apply Sum_ext. intros v Iv. rewrite <- (Dk v Iv). cbn [Poly.fprod].
  assert (tv (Delta t1 t2) w (scons (sc v) e) ^ S j = tv (Delta t1 t2) w (scons (sc v) e)) as ->.
  { rewrite (Dk v Iv). destruct (delta_01 v (tv k w e)) as [-> | ->];
      [apply pow_i; lia|apply pow1]. }
  ring.
Qed.

Lemma innermost_ok : forall c n fs p w e, okc c w e -> innermost K N c n fs = Some p ->
  peval p w e = Sum (tv n w e) (fun v => fprod fs w (scons (sc v) e)).
Proof.
  intros c n fs p w e O H. unfold innermost in H. destruct (lower_fs fs) as [gs|] eqn:L.
  - destruct (natural K N c n) eqn:Nt; [|discriminate]. injection H as <-.
    pose proof (natural_ok c n w e O Nt) as Hn.
    rewrite peval_mul, single, HN by easy.
    rewrite (Sum_ext _ _ (fun _ => fprod gs w e)) by (intros; now apply lower_fs_ok).
    rewrite Sum_const, count_nat by easy. reflexivity.
  - rewrite (contract_ok c n fs [] p w e O H). apply Sum_ext. intros v _. simpl. ring.
Qed.

Lemma first_settled_ok : forall c m js ss p w e, okc c w e ->
  first_settled K N c m js = Some (ss, p) -> peval (wrap ss p) w e = meval m w e.
Proof.
  intros c m. induction js as [|j js IH]; intros ss p w e O H; cbn [first_settled] in H;
    [discriminate|].
  destruct (swaps (rotation j (pred (length (fst m)))) m) as [[ss1 fs1]|] eqn:S; [|now apply IH].
  destruct (split_last ss1) as [[ss' n]|] eqn:L; [|now apply IH].
  destruct (innermost K N (ext c ss') n fs1) as [p'|] eqn:I; [|now apply IH].
  injection H as <- <-. rewrite <- (swaps_ok _ m _ w e S).
  apply split_last_ok in L. subst ss1. rewrite peval_wrap. unfold Poly.meval. cbn [fst snd].
  rewrite msum_app. apply (msum_ext E w0 fe ss' c); [easy|]. intros e' O'.
  exact (innermost_ok (ext c ss') n fs1 p' w e' O' I).
Qed.

Lemma psettle_with_ok : forall F c p w e, okc c w e ->
  (forall m, peval (F c m) w e = meval m w e) -> peval (psettle_with F c p) w e = peval p w e.
Proof.
  intros F c p w e O H. induction p as [|[q m] p IH]; cbn [psettle_with Poly.peval]; [easy|].
  now rewrite peval_merge, peval_scale, H, IH.
Qed.

Lemma settle_ok : forall f c m w e, okc c w e -> peval (settle K N f c m) w e = meval m w e.
Proof.
  induction f as [|f IH]; intros c m w e O; cbn [settle].
  - simpl. rewrite Q2R_one. ring.
  - destruct (first_settled K N c m (upto (length (fst m)))) as [[ss p]|] eqn:S.
    + rewrite psettle_with_ok by auto. rewrite psimp_ok by easy.
      now apply (first_settled_ok c m _ ss p w e O S).
    + simpl. rewrite Q2R_one. ring.
Qed.

Lemma psettle_ok : forall c p w e, okc c w e -> peval (psettle K N c p) w e = peval p w e.
Proof. intros c p w e O. apply psettle_with_ok; [easy|]. intros m. now apply settle_ok. Qed.

Lemma literal_ok : forall p q w e, literal p = Some q -> peval p w e = Q2R q.
Proof.
  intros p q w e H. unfold literal in H.
  destruct p as [|[d [[|s ss] [|f fs]]] [|? ?]]; try discriminate; injection H as <-.
  - unfold Q2R. simpl. ring.
  - simpl. unfold Poly.meval. simpl. ring.
Qed.

Lemma tv_inst_num : forall k b w e,
  tv (inst (VS (Num (Z.of_nat k) 1)) b) w e = tv b w (scons (sc (INR k)) e).
Proof.
  intros k b w e. unfold Poly.tv. rewrite eval_inst. f_equal. f_equal.
  apply functional_extensionality. intros w'. apply functional_extensionality. intros l.
  simpl. unfold number. now rewrite INR_IZR_INZ.
Qed.

Lemma unroll_ok : forall c b k w e, okc c w e ->
  peval (unroll N c b k) w e = sum_to k (fun v => tv b w (scons (sc v) e)).
Proof.
  intros c b k w e O. induction k as [|k IH]; cbn [unroll sum_to]; [easy|].
  rewrite peval_merge, HN, IH, tv_inst_num by easy. ring.
Qed.
Lemma unroll_product_ok : forall c b k w e, okc c w e ->
  peval (unroll_product N c b k) w e = product_to k (fun v => tv b w (scons (sc v) e)).
Proof.
  intros c b k w e O. induction k as [|k IH]; cbn [unroll_product product_to].
  - rewrite peval_const. apply Q2R_one.
  - now rewrite peval_mul, HN, IH, tv_inst_num by easy.
Qed.

Lemma small_ok : forall p k w e, small p = Some k -> count (peval p w e) = k.
Proof.
  intros p k w e H. unfold small in H. destruct (literal p) as [q|] eqn:L; [|discriminate].
  rewrite (literal_ok p q w e L).
  destruct (Pos.eqb (Qden (Qred q)) 1 && Z.leb (Qnum (Qred q)) 64) eqn:D; [|discriminate].
  apply andb_true_iff in D. destruct D as [D _]. injection H as <-.
  rewrite (Q2R_den1 q D). set (z := Qnum (Qred q)).
  destruct (Z_le_gt_dec 0 z) as [L0|L0].
  - replace (IZR z) with (INR (Z.to_nat z)); [apply count_INR|].
    rewrite INR_IZR_INZ. now rewrite Z2Nat.id.
  - rewrite count_neg; [destruct z; easy|]. apply IZR_le. lia.
Qed.

Lemma tv_sum : forall n b w e, tv (TSum n b) w e = Sum (tv n w e) (fun v => tv b w (scons (sc v) e)).
Proof. reflexivity. Qed.
Lemma tv_prod : forall n b w e,
  tv (TProd n b) w e = Product (tv n w e) (fun v => tv b w (scons (sc v) e)).
Proof. reflexivity. Qed.

Lemma nsum_ok : forall c n b w e, okc c w e -> peval (nsum K N c n b) w e = tv (TSum n b) w e.
Proof.
  intros c n b w e O. unfold nsum. pose proof (P_ok c n w e O) as Pn. rewrite tv_sum.
  destruct (small (P N c n)) as [k|] eqn:S.
  - apply (small_ok _ k w e) in S. rewrite Pn in S. rewrite psimp_ok, unroll_ok by easy.
    unfold Sum. now rewrite S.
  - rewrite psettle_ok, peval_wrap by easy. simpl. rewrite tv_to_tm, Pn. apply Sum_ext.
    intros v Iv. apply HN. apply okc_idx; [easy|]. now rewrite tv_to_tm, Pn.
Qed.

Lemma nproduct_ok : forall c n b w e, okc c w e ->
  peval (nproduct K N c n b) w e = tv (TProd n b) w e.
Proof.
  intros c n b w e O. unfold nproduct. pose proof (P_ok c n w e O) as Pn. rewrite tv_prod.
  destruct (small (P N c n)) as [k|] eqn:S.
  - apply (small_ok _ k w e) in S. rewrite Pn in S. rewrite psimp_ok, unroll_product_ok by easy.
    unfold Product. now rewrite S.
  - rewrite peval_atom, tv_prod, tv_to_tm, Pn. apply Product_ext. intros v Iv.
    rewrite tv_to_tm. apply P_ok. apply okc_idx; [easy|]. now rewrite tv_to_tm, Pn.
Qed.
Lemma ndet_ok : forall c n h w e, okc c w e -> tv (ndet N c n h) w e = tv (TDet n h) w e.
Proof.
  intros c n h w e O. pose proof (P_ok c n w e O) as Pn. rewrite <- (tv_to_tm E w0 fe) in Pn.
  unfold ndet, Poly.tv in *. cbn [eval]. rewrite Pn.
  destruct h; try reflexivity. destruct h; try reflexivity. cbn [eval].
  apply Det.Det_ext. intros i j Hi Hj.
  assert (okc (CIdx (lift (to_tm (P N c n))) :: CIdx (to_tm (P N c n)) :: c) w
    (scons (sc j) (scons (sc i) e))) as O2.
  { apply okc_idx; [apply okc_idx; [easy|]|]; unfold Poly.tv; now rewrite ?eval_lift, Pn. }
  pose proof (P_ok _ h w _ O2) as Ph. rewrite <- (tv_to_tm E w0 fe) in Ph. exact Ph.
Qed.

(** ** Functions *)
Lemma start_after : forall p w e, peval p w e = Q2R (start p) + peval (after p) w e.
Proof.
  intros p w e. destruct p as [|[q [[|s ss] [|f fs]]] p]; cbn [start after].
  - unfold Q2R. simpl. ring.
  - cbn [Poly.peval]. unfold Poly.meval. simpl. ring.
  - unfold Q2R at 1. simpl Qnum. simpl Qden. ring.
  - unfold Q2R at 1. simpl Qnum. simpl Qden. ring.
  - unfold Q2R at 1. simpl Qnum. simpl Qden. ring.
Qed.

Lemma q_int_conv : forall q k, Q2R q = IZR k -> q_int q = true.
Proof.
  intros [p d] k H. unfold q_int. cbn [Qnum Qden]. apply Z.eqb_eq.
  unfold Q2R in H. cbn [Qnum Qden] in H.
  assert (IZR p = IZR (k * Zpos d)) as X.
  { rewrite mult_IZR, <- H. field. now apply not_0_IZR. }
  apply eq_IZR in X. rewrite X. now apply Z_mod_mult.
Qed.

Lemma between_ok : forall c p w e, okc c w e -> between_integers K c p = true -> peval p w e <> 0.
Proof.
  intros c p w e O H Z. unfold between_integers in H. rewrite start_after in Z.
  match type of H with (if ?b then _ else _) = true => destruct b eqn:B end.
  - destruct (after p); [|discriminate]. apply negb_true_iff, q_nonzero in H. simpl in Z. lra.
  - set (scale := if Z.eqb _ 0 then _ else _) in H. clearbody scale.
    apply andb_true_iff in H. destruct H as [H1 H2]. apply negb_true_iff in H1.
    apply (intp_ok E w0 fe K HK _ c w e O) in H2. rewrite peval_scale in H2.
    destruct H2 as [k Ek].
    rewrite (q_int_conv _ (- k)) in H1; [discriminate|].
    rewrite Q2R_red, Q2R_mult, opp_IZR, <- Ek.
    replace (Q2R (start p)) with (- peval (after p) w e) by lra. ring.
Qed.

Lemma tv_delta : forall a b w e, tv (Delta a b) w e = delta (tv a w e) (tv b w e).
Proof. reflexivity. Qed.

Lemma ndelta_ok : forall c a b w e, okc c w e -> peval (ndelta K N c a b) w e = tv (Delta a b) w e.
Proof.
  intros c a b w e O. unfold ndelta.
  pose proof (fin_ok c (minus (N c a) (N c b)) w e O) as F. rewrite minus_ok, !HN in F by easy.
  rewrite tv_delta.
  destruct (fin N c (minus (N c a) (N c b))) as [|cm d] eqn:D.
  - rewrite peval_const, Q2R_one. simpl in F. replace (tv b w e) with (tv a w e) by lra.
    now rewrite delta_eq.
  - rewrite <- D in *. clear D. set (p := fin N c (minus (N c a) (N c b))) in *.
    destruct (between_integers K c p) eqn:B.
    + apply (between_ok c p w e O) in B. rewrite delta_neq; [easy|lra].
    + rewrite peval_atom, tv_delta, tv_to_tm. pose proof (monic_ok p w e) as M.
      pose proof (lead_ok p) as L.
      apply delta_iff. change (tv (Num 0 1) w e) with 0. split; intros X.
      * rewrite X, Rmult_0_r in M. lra.
      * assert (Q2R (lead p) * peval (monic p) w e = 0) as Y by lra.
        apply Rmult_integral in Y. tauto.
Qed.

Lemma nlog_ok : forall c p w e, okc c w e -> peval (nlog N c p) w e = ln (peval p w e).
Proof.
  intros c p w e O.
  assert (peval (patom (Fn Fln (to_tm p))) w e = ln (peval p w e)) as D
    by now rewrite peval_atom, tv_fn, tv_to_tm.
  unfold nlog. destruct p as [|[q [[|s ss] [|[t k] [|? ?]]]] [|? ?]]; try exact D.
  all: try (destruct t; try exact D; destruct f; try exact D; destruct k as [|[|k]]; try exact D).
  - destruct (Qeq_bool q 1) eqn:Q; [|exact D]. cbn [Poly.peval]. unfold Poly.meval. simpl.
    rewrite (Q2R_1 q Q). replace (1 * 1 + 0) with 1 by ring. now rewrite ln_1.
  - destruct (Qeq_bool q 1) eqn:Q; [|exact D]. rewrite HN by easy. cbn [Poly.peval].
    unfold Poly.meval. simpl. rewrite (Q2R_1 q Q). rewrite tv_fn. simpl.
    replace (1 * (exp (tv t w e) * 1 * 1) + 0) with (exp (tv t w e)) by ring.
    now rewrite ln_exp.
Qed.

Lemma abs_atom_ok : forall c t w e, okc c w e -> peval (abs_atom K N c t) w e = Rabs (tv t w e).
Proof.
  intros c t w e O. unfold abs_atom. destruct (is_nn (sgn K c t)) eqn:S.
  - rewrite peval_atom. symmetry. apply Rabs_pos_eq. apply (is_nn_ok _ _ S). now apply sgn_ok.
  - set (m := fin N c (pscale (-1) (N c t))).
    assert (peval m w e = - tv t w e) as M
      by (unfold m; rewrite fin_ok, peval_scale, Q2R_m1, HN by easy; ring).
    assert (peval (if is_nn (sgn K c (to_tm m)) then m else patom (Fn Fabs t)) w e
      = Rabs (tv t w e)) as D.
    { destruct (is_nn (sgn K c (to_tm m))) eqn:S2; [|now rewrite peval_atom].
      rewrite <- Rabs_Ropp, <- M. symmetry. apply Rabs_pos_eq. apply (is_nn_ok _ _ S2).
      rewrite <- (tv_to_tm E w0 fe m). now apply sgn_ok. }
    clearbody m. destruct t; try exact D. destruct (is_nn (sgn K c t)) eqn:S'.
    + rewrite peval_atom, tv_inv. symmetry. apply Rabs_pos_eq.
      pose proof (is_nn_ok _ _ S' (sgn_ok E w0 fe K HK t c w e O)) as [L|L].
      * left. now apply Rinv_0_lt_compat.
      * rewrite <- L, Rinv_0. lra.
    + rewrite peval_atom, !tv_inv, tv_fn. cbn [apply_fn]. now rewrite Rabs_inv.
Qed.

Lemma Rabs_pow : forall x k, Rabs (x ^ k) = Rabs x ^ k.
Proof. intros. symmetry. apply RPow_abs. Qed.

Lemma abs_fs_ok : forall c fs w e, okc c w e -> peval (abs_fs K N c fs) w e = Rabs (fprod fs w e).
Proof.
  intros c fs w e O. induction fs as [|[t k] fs IH]; cbn [abs_fs Poly.fprod].
  - rewrite peval_const, Q2R_one. now rewrite Rabs_R1.
  - rewrite peval_mul, IH, Rabs_mult, Rabs_pow. f_equal. destruct (Nat.even k) eqn:V.
    + rewrite ppow_ok, peval_atom. now rewrite abs_even.
    + now rewrite ppow_ok, abs_atom_ok.
Qed.

Lemma nabs_ok : forall c p w e, okc c w e -> peval (nabs K N c p) w e = Rabs (peval p w e).
Proof.
  intros c p w e O. unfold nabs.
  destruct (is_nn (sgn K c (to_tm p)) || all_nn K c p) eqn:S1.
  { symmetry. apply Rabs_pos_eq. apply orb_true_iff in S1. destruct S1 as [S|S].
    - rewrite <- (tv_to_tm E w0 fe p). apply (is_nn_ok _ _ S). now apply sgn_ok.
    - now apply (all_nn_ok c). }
  set (m := fin N c (pscale (-1) p)).
  assert (peval m w e = - peval p w e) as M
    by (unfold m; rewrite fin_ok, peval_scale, Q2R_m1 by easy; ring).
  destruct (is_nn (sgn K c (to_tm m)) || all_nn K c m) eqn:S2.
  { rewrite <- Rabs_Ropp, <- M. symmetry. apply Rabs_pos_eq. apply orb_true_iff in S2.
    destruct S2 as [S|S].
    - rewrite <- (tv_to_tm E w0 fe m). apply (is_nn_ok _ _ S). now apply sgn_ok.
    - now apply (all_nn_ok c). }
  assert (peval (pscale (q_abs (lead p)) (patom (Fn Fabs (to_tm (monic p))))) w e
    = Rabs (peval p w e)) as D.
  { rewrite peval_scale, peval_atom, tv_fn, tv_to_tm, Q2R_abs. cbn [apply_fn].
    now rewrite <- Rabs_mult, monic_ok. }
  destruct p as [|[q [[|s ss] fs]] [|? ?]]; try exact D.
  rewrite peval_scale, abs_fs_ok, Q2R_abs by easy. cbn [Poly.peval]. unfold Poly.meval. simpl.
  now rewrite Rplus_0_r, Rabs_mult.
Qed.

Lemma sqrt_primes : forall ps, forallb (Z.leb 0) ps = true -> forall fs w e,
  fprod (fold_right (fun p fs => finsert (Fn Fsqrt (Num p 1)) 1 fs) fs ps) w e
  = sqrt (IZR (fold_right Z.mul 1%Z ps)) * fprod fs w e
  /\ (0 <= fold_right Z.mul 1 ps)%Z.
Proof.
  induction ps as [|p ps IH]; intros H fs w e; simpl in *; [rewrite sqrt_1; split; [ring|lia]|].
  apply andb_true_iff in H. destruct H as [H1 H2]. apply Z.leb_le in H1.
  destruct (IH H2 fs w e) as [A B]. rewrite fprod_insert, A, mult_IZR, sqrt_mult.
  - split; [|lia]. rewrite tv_fn. simpl. change (tv (Num p 1) w e) with (IZR p). ring.
  - now apply IZR_le.
  - now apply IZR_le.
Qed.

Lemma fold_mul : forall ps a, fold_right Z.mul a ps = (a * fold_right Z.mul 1 ps)%Z.
Proof. induction ps as [|p ps IH]; intros a; simpl; [lia|]. rewrite IH. lia. Qed.

Lemma sqrt_q_ok : forall q w e, peval (sqrt_q q) w e = sqrt (Q2R q).
Proof.
  intros q w e. unfold sqrt_q.
  destruct (root_parts (factors 400 (Qnum q * Zpos (Qden q)) 2)) as [z ps].
  match goal with |- peval (if ?b then _ else _) _ _ = _ => destruct b eqn:B end.
  - rewrite !andb_true_iff in B. destruct B as [[B1 B2] B3]. apply Z.leb_le in B1.
    apply Z.eqb_eq in B3. rewrite fold_mul in B3.
    destruct (sqrt_primes ps B2 [] w e) as [A P0].
    rewrite <- (single (fold_right _ [] ps) w e) in A.
    cbn [Poly.peval] in *. rewrite Q2R_one in A. rewrite Q2R_red.
    set (m := meval _ w e) in *. assert (m = sqrt (IZR (fold_right Z.mul 1%Z ps))) as ->.
    { cbn [Poly.fprod] in A. lra. }
    set (s := fold_right Z.mul 1%Z ps) in *.
    assert (0 < IZR (Zpos (Qden q))) as Dp by (apply IZR_lt; lia).
    assert (Q2R q = Q2R (z # Qden q) * Q2R (z # Qden q) * IZR s) as ->.
    { unfold Q2R. cbn [Qnum Qden]. apply (f_equal IZR) in B3. rewrite !mult_IZR in B3.
      set (d := IZR (Zpos (Qden q))) in *. assert (d <> 0) by lra.
      transitivity (IZR (Qnum q) * d * / d * / d); [field; easy|]. rewrite <- B3. field. easy. }
    assert (0 <= Q2R (z # Qden q)) as R0.
    { unfold Q2R. cbn [Qnum Qden]. apply Rmult_le_pos; [now apply IZR_le|].
      left. now apply Rinv_0_lt_compat. }
    rewrite sqrt_mult; [|now apply Rmult_le_pos|now apply IZR_le].
    rewrite sqrt_square by easy. ring.
  - rewrite peval_atom, tv_fn, tv_num. reflexivity.
Qed.

Lemma root_atom_ok : forall c t w e, okc c w e -> is_nn (sgn K c t) = true ->
  peval (root_atom c t) w e = sqrt (tv t w e).
Proof.
  intros c t w e O S. unfold root_atom.
  destruct t; try (rewrite peval_atom, tv_fn; reflexivity).
  rewrite peval_atom, !tv_inv, tv_fn. cbn [apply_fn]. symmetry. apply sqrt_inv.
Qed.

Lemma root_fs_ok : forall c fs out kept w e, okc c w e -> root_fs K N c fs = (out, kept) ->
  exists x, 0 <= x /\ peval out w e = sqrt x /\ fprod fs w e = x * fprod kept w e.
Proof.
  intros c. induction fs as [|[t k] fs IH]; intros out kept w e O H; cbn [root_fs] in H.
  - injection H as <- <-. exists 1. rewrite peval_const, Q2R_one, sqrt_1. simpl.
    repeat split; lra.
  - destruct (root_fs K N c fs) as [o kp] eqn:Q. destruct (IH o kp w e O eq_refl) as (x & X0 & X1 & X2).
    destruct (is_nn (sgn K c t)) eqn:S.
    + injection H as <- <-.
      pose proof (is_nn_ok _ _ S (sgn_ok E w0 fe K HK t c w e O)) as T.
      exists (tv t w e ^ k * x). assert (0 <= tv t w e ^ k) by now apply pow_le.
      split; [now apply Rmult_le_pos|]. split.
      * rewrite peval_mul, ppow_ok, (root_atom_ok c), X1, sqrt_mult by easy. f_equal.
        clear - T. induction k as [|k IH]; simpl; [now rewrite sqrt_1|].
        rewrite sqrt_mult, IH; [easy|easy|now apply pow_le].
      * cbn [Poly.fprod]. rewrite X2. ring.
    + injection H as <- <-.
      exists ((tv t w e ^ Nat.div2 k) * (tv t w e ^ Nat.div2 k) * x).
      assert (0 <= tv t w e ^ Nat.div2 k * tv t w e ^ Nat.div2 k) by apply Rle_0_sqr.
      split; [now apply Rmult_le_pos|]. split.
      * rewrite peval_mul, ppow_ok, abs_atom_ok, X1, sqrt_mult by easy. f_equal.
        rewrite <- Rabs_pow. symmetry. apply sqrt_Rsqr_abs.
      * cbn [Poly.fprod]. rewrite X2. rewrite (Nat.div2_odd k) at 1.
        rewrite pow_add, pow_mult. destruct (Nat.odd k).
        -- rewrite fprod_insert. simpl. rewrite Rpow_mult_distr. rewrite !Rmult_1_r.
           replace ((tv t w e * tv t w e) ^ Nat.div2 k) with (tv t w e ^ Nat.div2 k * tv t w e ^ Nat.div2 k)
             by now rewrite <- Rpow_mult_distr.
           ring.
        -- simpl. rewrite !Rmult_1_r. rewrite Rpow_mult_distr. ring.
Qed.

Lemma lead_abs_pos : forall p, 0 < Q2R (q_abs (lead p)).
Proof. intros p. rewrite Q2R_abs. apply Rabs_pos_lt, lead_ok. Qed.

Lemma nsqrt_ok : forall c p w e, okc c w e -> peval (nsqrt K N c p) w e = sqrt (peval p w e).
Proof.
  intros c p w e O.
  assert (peval (pmul (sqrt_q (q_abs (lead p)))
      (patom (Fn Fsqrt (to_tm (pscale (Qinv (q_abs (lead p))) p))))) w e = sqrt (peval p w e)) as D.
  { rewrite peval_mul, sqrt_q_ok, peval_atom, tv_fn, tv_to_tm, peval_scale, Q2R_inv0.
    cbn [apply_fn]. pose proof (lead_abs_pos p) as L. set (a := Q2R (q_abs (lead p))) in *. clearbody a.
    destruct (Rle_lt_dec 0 (peval p w e)) as [P0|P0].
    - rewrite <- sqrt_mult.
      + f_equal. field. lra.
      + lra.
      + apply Rmult_le_pos; [|easy]. left. now apply Rinv_0_lt_compat.
    - rewrite (sqrt_neg_0 (peval p w e)) by lra.
      assert (/ a * peval p w e < / a * 0)
        by (apply Rmult_lt_compat_l; [now apply Rinv_0_lt_compat|easy]).
      rewrite (sqrt_neg_0 (/ a * peval p w e)) by lra. ring. }
  unfold nsqrt. destruct p as [|[q [[|s ss] fs]] [|? ?]]; try exact D.
  - simpl. now rewrite sqrt_0.
  - destruct (root_fs K N c fs) as [out kept] eqn:Q.
    destruct (root_fs_ok c fs out kept w e O Q) as (x & X0 & X1 & X2).
    rewrite !peval_mul, sqrt_q_ok, X1. cbn [Poly.peval]. unfold Poly.meval. cbn [Poly.msum fst snd].
    rewrite X2, Rplus_0_r, Q2R_abs.
    rewrite <- sqrt_mult by (easy || apply Rabs_pos).
    destruct (Z.ltb (Qnum q) 0) eqn:S.
    + apply Z.ltb_lt in S. assert (Q2R q < 0) as Qn.
      { unfold Q2R. apply IZR_lt in S.
        assert (0 < / IZR (Zpos (Qden q))) by (apply Rinv_0_lt_compat, IZR_lt; lia).
        rewrite <- (Rmult_0_l (/ IZR (Zpos (Qden q)))). now apply Rmult_lt_compat_r. }
      rewrite (Rabs_left _ Qn). set (k := fprod kept w e).
      assert (sqrt (- Q2R q * x) * sqrt (-1 * k) = sqrt (Q2R q * (x * k))) as M.
      { assert (0 <= - Q2R q * x) as A by (apply Rmult_le_pos; lra).
        destruct (Rle_lt_dec k 0) as [K0|K0].
        - rewrite <- sqrt_mult; [f_equal; ring|easy|lra].
        - rewrite (sqrt_neg_0 (-1 * k)) by lra.
          assert (0 <= - Q2R q * x * k) by (apply Rmult_le_pos; lra).
          assert (Q2R q * (x * k) = - (- Q2R q * x * k)) as V by ring.
          rewrite (sqrt_neg_0 (Q2R q * (x * k))) by lra. ring. }
      destruct kept as [|f kept].
      * rewrite <- M. unfold k. cbn [Poly.fprod Poly.peval]. rewrite (sqrt_neg_0 (-1 * 1)) by lra. ring.
      * rewrite peval_atom, tv_fn, tv_fs, Q2R_m1. cbn [apply_fn]. exact M.
    + apply Z.ltb_ge in S. assert (0 <= Q2R q) as Qp.
      { unfold Q2R. apply IZR_le in S.
        assert (0 < / IZR (Zpos (Qden q))) by (apply Rinv_0_lt_compat, IZR_lt; lia).
        apply Rmult_le_pos; lra. }
      rewrite (Rabs_pos_eq _ Qp). set (k := fprod kept w e).
      assert (sqrt (Q2R q * x) * sqrt (1 * k) = sqrt (Q2R q * (x * k))) as M.
      { assert (0 <= Q2R q * x) as A by now apply Rmult_le_pos.
        destruct (Rle_lt_dec 0 k) as [K0|K0].
        - rewrite <- sqrt_mult; [f_equal; ring|easy|lra].
        - rewrite (sqrt_neg_0 (1 * k)) by lra.
          assert (0 <= Q2R q * x * - k) by (apply Rmult_le_pos; lra).
          assert (Q2R q * (x * k) = - (Q2R q * x * - k)) as V by ring.
          rewrite (sqrt_neg_0 (Q2R q * (x * k))) by lra. ring. }
      destruct kept as [|f kept].
      * rewrite <- M. unfold k. cbn [Poly.fprod]. rewrite peval_const, Q2R_one.
        replace (1 * 1) with 1 by ring. now rewrite sqrt_1.
      * rewrite peval_atom, tv_fn, tv_fs, Q2R_one. cbn [apply_fn]. exact M.
Qed.
Lemma turns_ok : forall p t w e, turns p = Some t -> peval p w e = PI * peval t w e.
Proof.
  induction p as [|[q [ss fs]] p IH]; intros t w e H; cbn [turns] in H.
  - injection H as <-. cbn [Poly.peval]. ring.
  - destruct (Nat.eqb (fget Pi fs) 1) eqn:Q; [|discriminate]. apply Nat.eqb_eq in Q.
    destruct (turns p) as [l|]; [|discriminate]. injection H as <-. cbn [Poly.peval].
    rewrite (IH l w e eq_refl). unfold Poly.meval. cbn [fst snd].
    rewrite (msum_ext' E w0 fe ss w e (fun e' => fprod fs w e')
      (fun e' => PI * fprod (fdel Pi fs) w e')).
    + rewrite msum_scal. change (fun e' => fprod (fdel Pi fs) w e') with (fprod (fdel Pi fs) w).
      ring.
    + intros e'. rewrite (fget_ok Pi fs w e'), Q. change (tv Pi w e') with PI. ring.
Qed.

Lemma sin_half : forall x, sin x = cos (x - PI / 2).
Proof. intros x. rewrite <- (cos_neg (x - PI / 2)). replace (- (x - PI / 2)) with (PI / 2 - x) by ring.
  now rewrite cos_shift. Qed.

Lemma cos_2kpi : forall k, cos (IZR k * 2 * PI) = 1.
Proof.
  intros k. destruct k as [|p|p].
  - rewrite !Rmult_0_l. apply cos_0.
  - rewrite <- (positive_nat_Z p), <- INR_IZR_INZ.
    replace (INR (Pos.to_nat p) * 2 * PI) with (0 + 2 * INR (Pos.to_nat p) * PI) by ring.
    now rewrite cos_period, cos_0.
  - change (Zneg p) with (- Zpos p)%Z. rewrite opp_IZR, <- (positive_nat_Z p), <- INR_IZR_INZ.
    replace (- INR (Pos.to_nat p) * 2 * PI) with (- (0 + 2 * INR (Pos.to_nat p) * PI)) by ring.
    now rewrite cos_neg, cos_period, cos_0.
Qed.

Lemma cos_odd : forall k, cos ((IZR k * 2 + 1) * PI) = -1.
Proof.
  intros k. replace ((IZR k * 2 + 1) * PI) with (IZR k * 2 * PI + PI) by ring.
  now rewrite neg_cos, cos_2kpi.
Qed.

Lemma cos_half_odd : forall k, cos ((IZR k + / 2) * PI) = 0.
Proof.
  intros k. replace ((IZR k + / 2) * PI) with (IZR k * PI + PI / 2) by field.
  rewrite cos_plus, cos_PI2, sin_PI2.
  assert (sin (IZR k * PI) = 0) as ->; [|ring].
  apply sin_eq_0_1. now exists k.
Qed.

Lemma cos_turns_ok : forall c p v w e, okc c w e -> cos_turns K N c p = Some v ->
  cos (PI * peval p w e) = Q2R v.
Proof.
  intros c p v w e O H. unfold cos_turns in H.
  assert (Q2R half = / 2) as Hh by (unfold half, Q2R; simpl; field).
  destruct (intp K c (fin N c (minus p (pconst half)))) eqn:A.
  { injection H as <-. apply (intp_ok E w0 fe K HK _ c w e O) in A.
    rewrite fin_ok, minus_ok, peval_const, Hh in A by easy. destruct A as [k A].
    replace (PI * peval p w e) with ((IZR k + / 2) * PI) by (rewrite <- A; ring).
    rewrite cos_half_odd. unfold Q2R. simpl. ring. }
  destruct (intp K c (pscale half p)) eqn:B.
  { injection H as <-. apply (intp_ok E w0 fe K HK _ c w e O) in B.
    rewrite peval_scale, Hh in B. destruct B as [k B].
    replace (PI * peval p w e) with (IZR k * 2 * PI) by (rewrite <- B; field).
    rewrite cos_2kpi. now rewrite Q2R_one. }
  destruct (intp K c (pscale half (fin N c (minus p (pconst 1))))) eqn:C; [|discriminate].
  injection H as <-. apply (intp_ok E w0 fe K HK _ c w e O) in C.
  rewrite peval_scale, fin_ok, minus_ok, peval_const, Q2R_one, Hh in C by easy.
  destruct C as [k C].
  replace (PI * peval p w e) with ((IZR k * 2 + 1) * PI) by (rewrite <- C; field).
  rewrite cos_odd. now rewrite Q2R_m1.
Qed.

Lemma trig_value_ok : forall c f p v w e, okc c w e -> trig_value K N c f p = Some v ->
  apply_fn f (peval p w e) = Q2R v.
Proof.
  intros c f p v w e O H. unfold trig_value in H. destruct (turns p) as [t|] eqn:T; [|discriminate].
  rewrite (turns_ok p t w e T). destruct f; try discriminate; cbn [apply_fn].
  - rewrite sin_half. apply (cos_turns_ok c _ v w e O) in H.
    rewrite fin_ok, minus_ok, peval_const in H by easy. rewrite <- H. f_equal.
    unfold half, Q2R. simpl. field.
  - now apply (cos_turns_ok c t v w e O).
Qed.

Lemma ntrig_ok : forall c f p w e, okc c w e -> peval (ntrig K N c f p) w e = apply_fn f (peval p w e).
Proof.
  intros c f p w e O. assert (peval (patom (Fn f (to_tm p))) w e = apply_fn f (peval p w e)) as D
    by now rewrite peval_atom, tv_fn, tv_to_tm.
  unfold ntrig. destruct p as [|[q m] p].
  - destruct f; try exact D; cbn [Poly.peval apply_fn]; [now rewrite sin_0|].
    rewrite peval_const, Q2R_one. now rewrite cos_0.
  - set (p' := (q, m) :: p) in *.
    destruct (trig_value K N c f p') as [v|] eqn:V.
    { rewrite peval_const. symmetry. now apply (trig_value_ok c). }
    destruct (Z.ltb (Qnum q) 0); [|exact D].
    destruct f; try exact D; rewrite ?peval_scale, peval_atom, tv_fn, tv_to_tm, peval_scale, Q2R_m1;
      cbn [apply_fn].
    + replace (-1 * peval p' w e) with (- peval p' w e) by ring. rewrite sin_neg. ring.
    + replace (-1 * peval p' w e) with (- peval p' w e) by ring. apply cos_neg.
Qed.

Lemma whole_ok : forall c p w e, okc c w e -> is_int (peval (whole K c p) w e).
Proof.
  intros c p w e O. induction p as [|[q m] p IH]; cbn [whole]; [apply int_0|].
  destruct (intm K c m) eqn:I; [|easy]. rewrite peval_merge, peval_scale. apply int_plus; [|easy].
  apply int_mult.
  - unfold q_floor. rewrite Q2R_inject. apply int_IZR.
  - cbn [Poly.peval]. rewrite Q2R_one, Rmult_1_l, Rplus_0_r. now apply (intm_ok E w0 fe K HK m c).
Qed.

Lemma proper_ok : forall c p w e, okc c w e -> proper K N c p = true -> 0 <= peval p w e < 1.
Proof.
  intros c p w e O H. unfold proper in H. destruct (literal p) as [q|] eqn:L.
  - rewrite (literal_ok p q w e L). apply andb_true_iff in H. destruct H as [H1 H2].
    apply Z.leb_le in H1. apply Z.ltb_lt in H2. unfold Q2R.
    assert (0 < IZR (Zpos (Qden q))) as D by (apply IZR_lt; lia).
    assert (0 < / IZR (Zpos (Qden q))) as D' by now apply Rinv_0_lt_compat.
    apply IZR_le in H1. apply IZR_lt in H2. split; [apply Rmult_le_pos; lra|].
    apply (Rmult_lt_reg_r (IZR (Zpos (Qden q)))); [easy|].
    rewrite Rmult_assoc, Rinv_l by lra. lra.
  - apply existsb_exists in H. destruct H as (u & _ & H). rewrite !andb_true_iff in H.
    destruct H as [[H1 _] H3]. pose proof (is_pos_ok _ _ H1 (sgn_ok E w0 fe K HK u c w e O)) as U.
    apply (within_ok c _ u w e O) in H3.
    rewrite tv_to_tm, fin_ok, psimp_ok, peval_mul, peval_atom in H3 by easy.
    destruct H3 as (_ & A & B). split.
    + apply (Rmult_le_reg_r (tv u w e)); lra.
    + apply (Rmult_lt_reg_r (tv u w e)); lra.
Qed.

Lemma floor_plus : forall x y, is_int x -> floor (x + y) = x + floor y.
Proof.
  intros x y H. apply floor_unique.
  - apply int_plus; [easy|apply floor_is_int].
  - pose proof (floor_bounds y). lra.
Qed.

Lemma nfloor_ok : forall c p w e, okc c w e -> peval (nfloor K N c p) w e = floor (peval p w e).
Proof.
  intros c p w e O. unfold nfloor. pose proof (whole_ok c p w e O) as W.
  set (wp := whole K c p) in *. set (rest := fin N c (minus p wp)).
  assert (peval p w e = peval wp w e + peval rest w e) as S.
  { unfold rest. rewrite fin_ok, minus_ok by easy. ring. }
  rewrite S, floor_plus by easy. destruct (proper K N c rest) eqn:Q.
  - apply (proper_ok c _ w e O) in Q. rewrite (floor_unique (peval rest w e) 0);
      [ring|apply int_0|lra].
  - rewrite peval_merge, peval_atom, tv_fn, tv_to_tm. reflexivity.
Qed.

Lemma nextremum_ok : forall c big a b w e, okc c w e -> peval (nextremum K N c big a b) w e
  = if big then Rmax (tv a w e) (tv b w e) else Rmin (tv a w e) (tv b w e).
Proof.
  intros c big a b w e O. unfold nextremum.
  pose proof (P_ok c a w e O) as Pa. pose proof (P_ok c b w e O) as Pb.
  destruct (nn K N c (fin N c (minus (P N c b) (P N c a)))) eqn:A.
  { apply (nn_ok c _ w e O) in A. rewrite fin_ok, minus_ok, Pa, Pb in A by easy.
    destruct big; [rewrite Pb, Rmax_right|rewrite Pa, Rmin_left]; lra. }
  destruct (nn K N c (fin N c (minus (P N c a) (P N c b)))) eqn:B.
  { apply (nn_ok c _ w e O) in B. rewrite fin_ok, minus_ok, Pa, Pb in B by easy.
    destruct big; [rewrite Pa, Rmax_left|rewrite Pb, Rmin_right]; lra. }
  destruct (tlt (to_tm (P N c a)) (to_tm (P N c b))); destruct big; rewrite peval_atom;
    unfold Poly.tv at 1; cbn [eval];
    fold (tv (to_tm (P N c a)) w e); fold (tv (to_tm (P N c b)) w e);
    rewrite !tv_to_tm, Pa, Pb; try reflexivity; [apply Rmax_comm|apply Rmin_comm].
Qed.

Lemma power_int : forall x z, power x (IZR z) = powerRZ x z.
Proof.
  intros x z. unfold power. rewrite floor_int by apply int_IZR.
  destruct Req_EM_T; [|easy]. now rewrite Int_part_IZR.
Qed.
Lemma power_exp : forall x y, 0 < x -> power x y = exp (y * ln x).
Proof.
  intros x y H. unfold power. destruct Req_EM_T as [F|F].
  - rewrite <- F at 2. unfold floor. symmetry. now apply exp_ln_pow.
  - now destruct Rlt_dec.
Qed.

Lemma nrpow_ok : forall c a b w e, okc c w e ->
  peval (nrpow K N c a b) w e = power (tv a w e) (tv b w e).
Proof.
  intros c a b w e O. unfold nrpow.
  pose proof (P_ok c a w e O) as Pa. pose proof (P_ok c b w e O) as Pb.
  set (p := P N c a) in *. set (x := P N c b) in *.
  assert (peval (if is_pos (sgn K c (to_tm p))
    then pexp K N c (fin N c (psimp K N c (pmul x (nlog N c p))))
    else patom (RPow (to_tm p) (to_tm x))) w e = power (tv a w e) (tv b w e)) as D.
  { destruct (is_pos (sgn K c (to_tm p))) eqn:S.
    - pose proof (is_pos_ok _ _ S (sgn_ok E w0 fe K HK (to_tm p) c w e O)) as X.
      rewrite tv_to_tm, Pa in X.
      rewrite pexp_ok, fin_ok, psimp_ok, peval_mul, nlog_ok, Pa, Pb by easy.
      now rewrite power_exp.
    - rewrite peval_atom. unfold Poly.tv at 1. cbn [eval].
      fold (tv (to_tm p) w e). fold (tv (to_tm x) w e). now rewrite !tv_to_tm, Pa, Pb. }
  destruct (literal x) as [q|] eqn:L; [|exact D].
  destruct (Pos.eqb (Qden (Qred q)) 1) eqn:Q; [|exact D].
  rewrite pzpow_ok, Pa by easy. rewrite <- Pb, (literal_ok x q w e L), (Q2R_den1 q Q).
  symmetry. apply power_int.
Qed.

Lemma nfn_ok : forall c f a w e, okc c w e -> peval (nfn K N c f a) w e = tv (Fn f a) w e.
Proof.
  intros c f a w e O. unfold nfn. pose proof (P_ok c a w e O) as Pa. rewrite tv_fn, <- Pa.
  destruct f; [now apply ntrig_ok|now apply ntrig_ok|now apply pexp_ok|now apply nlog_ok
    |now apply nsqrt_ok|now apply nabs_ok|now apply nfloor_ok].
Qed.

(** ** Expectations *)
Lemma E_ext : forall X Y : Omega -> R, (forall w, X w = Y w) -> E X = E Y.
Proof. intros X Y H. f_equal. now apply functional_extensionality. Qed.
Lemma E_const : forall a, E (fun _ => a) = a.
Proof.
  intros a. destruct HE as [L One].
  pose proof (L (a - 1) (fun _ => 1) (fun _ => 1)) as H. rewrite One in H.
  rewrite (E_ext _ (fun _ => (a - 1) * 1 + 1)) by (intros; ring). rewrite H. ring.
Qed.
Lemma E_0 : E (fun _ => 0) = 0. Proof. apply E_const. Qed.
Lemma E_scal : forall a X, E (fun w => a * X w) = a * E X.
Proof.
  intros a X. destruct HE as [L _]. rewrite (E_ext _ (fun w => a * X w + (fun _ => 0) w))
    by (intros; ring). rewrite L, E_0. ring.
Qed.
Lemma E_plus : forall X Y, E (fun w => X w + Y w) = E X + E Y.
Proof.
  intros X Y. destruct HE as [L _]. rewrite (E_ext _ (fun w => 1 * X w + Y w)) by (intros; ring).
  rewrite L. ring.
Qed.
Lemma E_sum : forall n (X : R -> Omega -> R), E (fun w => Sum n (fun i => X i w)) = Sum n (fun i => E (X i)).
Proof.
  intros n X. unfold Sum. induction (count n) as [|k IH]; simpl; [apply E_0|].
  rewrite E_plus, IH. reflexivity.
Qed.
Lemma E_msum : forall ss w e (G : env -> Omega -> R), steady e -> forallb still ss = true ->
  E (fun w' => msum ss w' e (fun e' => G e' w')) = msum ss w e (fun e' => E (G e')).
Proof.
  induction ss as [|n ss IH]; intros w e G St S; cbn [Poly.msum]; [easy|].
  cbn [forallb] in S. apply andb_true_iff in S. destruct S as [S1 S2].
  rewrite (E_ext _ (fun w' => Sum (tv n w e) (fun v =>
    msum ss w' (scons (sc v) e) (fun e' => G e' w')))).
  - rewrite (E_sum (tv n w e) (fun v w' => msum ss w' (scons (sc v) e) (fun e' => G e' w'))).
    apply Sum_ext. intros v _. apply (IH w (scons (sc v) e) G); [now apply steady_sc|easy].
  - intros w'. unfold Poly.tv. now rewrite (eval_still _ _ _ n w' w e []) by easy.
Qed.

Lemma moving_resting : forall fs w e,
  fprod fs w e = fprod (resting fs) w e * fprod (moving fs) w e.
Proof.
  intros fs w e. induction fs as [|[t k] fs IH]; cbn [resting moving Poly.fprod]; [ring|].
  destruct (still t); cbn [Poly.fprod]; rewrite IH; ring.
Qed.
Lemma resting_still : forall fs w w' e, steady e ->
  fprod (resting fs) w e = fprod (resting fs) w' e.
Proof.
  intros fs w w' e St. induction fs as [|[t k] fs IH]; cbn [resting]; [easy|].
  destruct (still t) eqn:S; [|easy]. cbn [Poly.fprod]. rewrite IH. unfold Poly.tv.
  now rewrite (eval_still _ _ _ t w w' e []).
Qed.

Lemma E_fprod : forall fs w e, steady e ->
  E (fun w' => fprod fs w' e)
  = fprod (resting fs) w e * E (fun w' => fprod (moving fs) w' e).
Proof.
  intros fs w e St. rewrite <- E_scal. apply E_ext. intros w'.
  rewrite moving_resting. now rewrite (resting_still fs w' w).
Qed.

Lemma expect_m_ok : forall m c w e, okc c w e -> forallb still (fst m) = true ->
  meval (expect_m m) w e = E (fun w' => meval m w' e).
Proof.
  intros [ss fs] c w e O S. cbn [fst] in S. unfold Poly.meval. cbn [fst snd].
  rewrite (E_msum ss w e (fun e' w' => fprod fs w' e')) by
    (easy || now apply (okc_steady E w0 fe c w)).
  unfold expect_m. cbn [fst snd].
  assert (forall e', steady e' -> E (fun w' => fprod fs w' e')
    = fprod (resting fs) w e' * E (fun w' => fprod (moving fs) w' e')) as X
    by (intros; now apply E_fprod).
  destruct (moving fs) as [|tk ms] eqn:M; cbn [fst snd]; apply (msum_ext E w0 fe ss c); try easy;
    intros e' O'; apply okc_steady in O'; rewrite X by easy.
  - cbn [Poly.fprod]. rewrite E_const, Rmult_1_r, (moving_resting fs), M. simpl. ring.
  - rewrite fprod_insert, pow_1.
    assert (tv (Exp_ (fs_tm 1 (tk :: ms))) w e' = E (fun w' => fprod (tk :: ms) w' e')) as ->.
    { unfold Poly.tv. cbn [eval]. apply E_ext. intros w'.
      pose proof (tv_fs E w0 fe 1 (tk :: ms) w' e') as T. rewrite Q2R_one, Rmult_1_l in T. exact T. }
    ring.
Qed.

Lemma nexpect_ok : forall p q c w e, okc c w e -> nexpect p = Some q ->
  peval q w e = E (fun w' => peval p w' e).
Proof.
  induction p as [|[x m] p IH]; intros q c w e O H; cbn [nexpect] in H.
  - injection H as <-. symmetry. apply E_0.
  - destruct (forallb still (fst m)) eqn:S; [|discriminate].
    destruct (nexpect p) as [l|] eqn:Q; [|discriminate]. injection H as <-. cbn [Poly.peval].
    rewrite E_plus, E_scal, (expect_m_ok m c w e O S), (IH l c w e O eq_refl). reflexivity.
Qed.

(** ** Applications *)
Lemma nhead_ok : forall c h w e l, okc c w e ->
  eval E w0 fe (nhead N c h) w e l = eval E w0 fe h w e l.
Proof.
  intros c. induction h; intros w e l O; cbn [nhead]; try reflexivity.
  - cbn [eval]. rewrite IHh1 by easy.
    pose proof (tv_to_tm E w0 fe (P N c h2) w e) as T. rewrite P_ok in T by easy.
    unfold Poly.tv in T. now rewrite T.
  - cbn [eval]. rewrite IHh1 by easy.
    pose proof (tv_to_tm E w0 fe (P N c h2) w e) as T. rewrite P_ok in T by easy.
    unfold Poly.tv in T. rewrite T. do 4 f_equal. apply vector_ext. intros v Iv.
    assert (okc (CIdx (to_tm (P N c h2)) :: c) w (scons (sc v) e)) as O'.
    { apply okc_idx; [easy|]. unfold Poly.tv. now rewrite T. }
    pose proof (tv_to_tm E w0 fe (P N (CIdx (to_tm (P N c h2)) :: c) h3) w (scons (sc v) e)) as U.
    rewrite P_ok in U by easy. exact U.
Qed.

Lemma norm1_ok : forall c t w e, okc c w e -> peval (norm1 K N c t) w e = tv t w e.
Proof.
  intros c t w e O. destruct t; try (apply peval_atom); cbn [norm1].
  - rewrite peval_const, Q2R_red, <- number_Q2R. reflexivity.
  - now rewrite peval_merge, !HN.
  - now rewrite psettle_ok, psimp_ok, peval_mul, !HN.
  - rewrite peval_scale, Q2R_m1, HN by easy. unfold Poly.tv. cbn [eval]. ring.
  - now rewrite psimp_ok, pinv_ok, P_ok.
  - now rewrite psettle_ok, psimp_ok, ppow_ok, HN.
  - now rewrite psimp_ok, nfn_ok.
  - now rewrite nextremum_ok.
  - now rewrite nextremum_ok.
  - now rewrite psimp_ok, nrpow_ok.
  - now apply ndelta_ok.
  - now apply nsum_ok.
  - now apply nproduct_ok.
  - destruct (nexpect (N (forget c) t)) as [p|] eqn:Q; [|apply peval_atom].
    rewrite psimp_ok, (nexpect_ok _ p c w e O Q) by easy. apply E_ext. intros w'.
    apply HN. now apply (okc_forget E w0 fe c w w').
  - rewrite peval_atom. unfold Poly.tv. cbn [eval]. now apply nhead_ok.
  - rewrite peval_atom. now apply ndet_ok.
Qed.

End Sound.

Lemma norm_ok : forall {Omega : Type} (E : (Omega -> R) -> R) w0 fe K, expectation E ->
  known_ok E w0 fe K -> forall f c t w e, okc E w0 fe c w e ->
  peval E w0 fe (norm f K c t) w e = tv E w0 fe t w e.
Proof.
  intros Omega E w0 fe K HE HK. induction f as [|f IH]; intros c t w e O; cbn [norm].
  - apply peval_atom.
  - apply norm1_ok; auto.
Qed.
