(** Every rule gives a sequent that holds. *)
Require Import ZArith QArith Qreals Lia Lra FunctionalExtensionality Bool Classical.
From Derive Require Import Prelude Sums Terms Poly Signs Normal NormalOk Rules.
From Derive Require Niven Det.
Close Scope Q_scope.
Open Scope R_scope.

Section Sound.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega).
Hypothesis HE : expectation E.
Notation env := (@env Omega).
Notation val := (@val Omega).
Notation tv := (Poly.tv E w0).
Notation okc := (Poly.okc E w0).
Notation peval := (Poly.peval E w0).
Notation holds := (Terms.holds E w0).
Notation known_ok := (Signs.known_ok E w0).
Implicit Types fe : positive -> val.

Lemma nf_ok : forall fe K, known_ok fe K -> forall c t w e, okc fe c w e ->
  peval fe (nf K c t) w e = tv fe t w e.
Proof. intros. unfold nf. now apply norm_ok. Qed.

Lemma pf_ok : forall fe K, known_ok fe K -> forall c t w e, okc fe c w e ->
  peval fe (pf K c t) w e = tv fe t w e.
Proof.
  intros fe K HK c t w e O. unfold pf.
  rewrite (fin_ok E w0 fe (nf K) (nf_ok fe K HK) c (nf K c t) w e O). now apply nf_ok.
Qed.
Lemma pfin_ok : forall fe K, known_ok fe K -> forall c p w e, okc fe c w e ->
  peval fe (fin (nf K) c p) w e = peval fe p w e.
Proof. intros fe K HK c p w e O. apply (fin_ok E w0 fe (nf K) (nf_ok fe K HK) c p w e O). Qed.
Lemma nnk_ok : forall fe K, known_ok fe K -> forall c p w e, okc fe c w e ->
  nn K (nf K) c p = true -> 0 <= peval fe p w e.
Proof. intros fe K HK c p w e O H. apply (nn_ok E w0 fe K HK (nf K) (nf_ok fe K HK) c p w e O H). Qed.
Lemma natk_ok : forall fe K, known_ok fe K -> forall c n w e, okc fe c w e ->
  natural K (nf K) c n = true -> is_nat (tv fe n w e).
Proof.
  intros fe K HK c n w e O H. apply (natural_ok E w0 fe K HK (nf K) (nf_ok fe K HK) c n w e O H).
Qed.
Lemma withink_ok : forall fe K, known_ok fe K -> forall c k n w e, okc fe c w e ->
  within K (nf K) c k n = true -> is_index (tv fe n w e) (tv fe k w e).
Proof.
  intros fe K HK c k n w e O H. apply (within_ok E w0 fe K HK (nf K) (nf_ok fe K HK) c k n w e O H).
Qed.

Lemma tv_diff : forall fe a b w e, tv fe (diff a b) w e = tv fe a w e - tv fe b w e.
Proof. reflexivity. Qed.

Lemma same_ok : forall fe K, known_ok fe K -> forall c a b w e, okc fe c w e ->
  same K c a b = true -> tv fe a w e = tv fe b w e.
Proof.
  intros fe K HK c a b w e O H. unfold same in H. rewrite or_if in H.
  apply orb_true_iff in H. destruct H as [H|H].
  - apply teqb_eq in H. now subst.
  - pose proof (pf_ok fe K HK c (diff a b) w e O) as P0. unfold diff in P0.
    destruct (pf K c (Add a (Opp b))); [|discriminate].
    fold (diff a b) in P0. rewrite tv_diff in P0. simpl in P0. lra.
Qed.

Lemma ev_tv : forall fe t e, ev E w0 fe t e = tv fe t w0 e.
Proof. reflexivity. Qed.

(** *** Closed formulas *)
Lemma holds_closed : forall fe p d e e', fclosed d p = true -> agree d e e' ->
  holds fe p e <-> holds fe p e'.
Proof.
  intros fe.
  assert (forall t d e e', closed d t = true -> agree d e e' -> ev E w0 fe t e = ev E w0 fe t e') as B
    by (intros; eapply eval_closed; eassumption).
  induction p; intros d e e' C A; cbn [fclosed Terms.holds] in *; rewrite ?andb_true_iff in C;
    repeat match goal with H : _ /\ _ |- _ => destruct H end;
    repeat match goal with H : closed d ?t = true |- _ => rewrite (B t d e e' H A); clear H end;
    try tauto.
  - rewrite (IHp1 d e e'), (IHp2 d e e') by easy. tauto.
  - rewrite (IHp1 d e e'), (IHp2 d e e') by easy. tauto.
  - rewrite (IHp d e e') by easy. tauto.
  - rewrite (IHp1 d e e'), (IHp2 d e e') by easy. tauto.
  - apply all_of_ext. intros v. apply (IHp (S d)); [easy|now apply agree_scons].
  - apply some_of_ext. intros v. apply (IHp (S d)); [easy|now apply agree_scons].
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      eapply B; try eassumption; repeat apply agree_scons; assumption.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      eapply B; try eassumption; repeat apply agree_scons; assumption.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      eapply B; try eassumption; repeat apply agree_scons; assumption.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      eapply B; try eassumption; repeat apply agree_scons; assumption.
Qed.

(** *** Beta *)
Lemma steady_det : forall f e, steady e -> steady (scons (@det Omega f) e).
Proof. intros f e H [|k] w w' l; simpl; auto. Qed.

Lemma beta_ok : forall fe f t w e l, steady e ->
  eval E w0 fe (beta f t) w e l = eval E w0 fe t w e l.
Proof.
  intros fe. induction f as [|f IH]; intros t w e l S; [reflexivity|].
  destruct t; cbn [beta eval]; rewrite ?IH by easy; try reflexivity.
  - f_equal. apply functional_extensionality. intros v. apply IH. now apply steady_sc.
  - f_equal. apply functional_extensionality. intros v. apply IH. now apply steady_sc.
  - f_equal. apply functional_extensionality. intros v. now apply IH.
  - destruct (is_head (beta f t)) eqn:H.
    + cbn [eval]. now rewrite IH.
    + rewrite <- (IH t w e [] S). now apply eval_scalar.
  - assert (eval E w0 fe (Ap (beta f t1) (beta f t2)) w e l
      = eval E w0 fe t1 w e (AR (eval E w0 fe t2 w e []) :: l)) as D
      by (cbn [eval]; now rewrite !IH).
    destruct (beta f t1) eqn:H; try exact D.
    destruct (still (beta f t2)) eqn:St; [|exact D].
    rewrite IH, eval_inst by easy. rewrite <- D. cbn [eval]. f_equal. f_equal.
    apply functional_extensionality. intros w'. apply functional_extensionality. intros l'.
    cbn [vval]. unfold sc. now apply eval_still.
  - do 3 f_equal. f_equal. apply vector_ext. intros v _. apply IH. now apply steady_sc.
  - destruct l as [|[]]; [easy| |easy]. apply IH. now apply steady_sc.
  - f_equal. apply matrix_ext. intros i j. now apply IH.
Qed.

Lemma ev_bt : forall fe t e, steady e -> ev E w0 fe (bt t) e = ev E w0 fe t e.
Proof. intros. now apply beta_ok. Qed.

Lemma all_of_ext_in : forall r n P Q, (forall v : val, in_range r n v -> (P v <-> Q v)) ->
  all_of r n P <-> all_of r n Q.
Proof. intros r n P Q H. rewrite !all_of_iff. split; intros K v Hv; apply (H v); auto. Qed.
Lemma some_of_ext_in : forall r n P Q, (forall v : val, in_range r n v -> (P v <-> Q v)) ->
  some_of r n P <-> some_of r n Q.
Proof.
  intros r n P Q H. rewrite !some_of_iff. split; intros (v & Hv & K); exists v; split; auto;
    now apply (H v).
Qed.
Lemma range_steady : forall r n v e, (match r with QRan _ => False | _ => True end) ->
  @in_range Omega r n v -> steady e -> steady (scons v e).
Proof.
  intros r n v e Hr Hv S. destruct r; try contradiction; cbn [in_range] in Hv.
  - destruct Hv as (x & _ & ->). now apply steady_sc.
  - destruct Hv as (x & ->). now apply steady_det.
  - destruct Hv as (x & ->). now apply steady_det.
Qed.

Lemma fbeta_ok : forall fe p e, steady e -> holds fe (fbeta p) e <-> holds fe p e.
Proof.
  intros fe. induction p; intros e S; cbn [fbeta Terms.holds]; rewrite ?ev_bt by easy; try tauto.
  - rewrite IHp1, IHp2 by easy. tauto.
  - rewrite IHp1, IHp2 by easy. tauto.
  - rewrite IHp by easy. tauto.
  - rewrite IHp1, IHp2 by easy. tauto.
  - destruct r; try tauto; cbn [Terms.holds]; rewrite ev_bt by easy; apply all_of_ext_in;
      intros v Hv; apply IHp; eapply range_steady; try exact Hv; easy.
  - destruct r; try tauto; cbn [Terms.holds]; rewrite ev_bt by easy; apply some_of_ext_in;
      intros v Hv; apply IHp; eapply range_steady; try exact Hv; easy.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      apply ev_bt; unfold ten1; repeat (apply steady_sc || apply steady_det); easy.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      apply ev_bt; unfold ten2; repeat (apply steady_sc || apply steady_det); easy.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      apply ev_bt; unfold ten3; repeat (apply steady_sc || apply steady_det); easy.
  - apply iff_eq. f_equal; repeat (apply functional_extensionality; intros);
      apply ev_bt; unfold ten4; repeat (apply steady_sc || apply steady_det); easy.
Qed.

Lemma at_value_ok : forall fe v p e, steady e ->
  holds fe (at_value v p) e <-> holds fe p (scons (vval E w0 fe v e) e).
Proof.
  intros fe v p e S. rewrite <- holds_finst.
  destruct v; cbn [at_value]; try reflexivity. now apply fbeta_ok.
Qed.

(** *** Formulas alike *)
Lemma okc_entry : forall fe k n c w e v, okc fe c w e -> in_range (QNum k) (tv fe n w e) v ->
  okc fe (entry_of (QNum k) n :: c) w (scons v e).
Proof.
  intros fe k n c w e v O (x & M & ->). cbn [Poly.okc]. split; [exact O|].
  destruct k; cbn [entry_of member] in *; try reflexivity.
  - now exists x.
  - exists x. split; [easy|]. destruct M as [M M']. split; [easy|lra].
  - now exists x.
Qed.

Lemma alike_ok : forall fe p q c e, okc fe c w0 e -> alike c p q = true ->
  (holds fe p e <-> holds fe q e).
Proof.
  intros fe.
  assert (forall c a b e, okc fe c w0 e -> same nothing c a b = true ->
    ev E w0 fe a e = ev E w0 fe b e) as B.
  { intros c a b e O H. rewrite !ev_tv. apply (same_ok fe nothing (nothing_ok E w0 fe) c); easy. }
  assert (forall p q e, feqb p q = true -> (holds fe p e <-> holds fe q e)) as D
    by (intros p q e H; apply feqb_eq in H; now subst).
  induction p; intros q' c e O H; destruct q' as [a' b'|a' b'|a' b'|a'| | |q1 q2|q1 q2|q1|q1 q2|r0 n0 q1|r0 n0 q1| | | | ];
    try (now apply D); try (destruct r; now apply D); cbn [alike Terms.holds] in *;
    rewrite ?andb_true_iff in H;
    repeat match goal with H : _ /\ _ |- _ => destruct H end;
    repeat match goal with
    | H : same nothing c ?a ?b = true |- _ => rewrite (B c a b e O H); clear H
    end; try tauto.
  - rewrite (IHp1 q1 c e), (IHp2 q2 c e) by easy. tauto.
  - rewrite (IHp1 q1 c e), (IHp2 q2 c e) by easy. tauto.
  - rewrite (IHp q1 c e) by easy. tauto.
  - rewrite (IHp1 q1 c e), (IHp2 q2 c e) by easy. tauto.
  - destruct r as [k|k|k|k], r0 as [k'|k'|k'|k']; try exact (D _ _ e H).
    + rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3]. apply kind_eqb_eq in H1. subst.
      rewrite <- (B c n n0 e O H2). apply all_of_ext_in. intros v Hv.
      apply (IHp q1 (entry_of (QNum k') n :: c)); [|easy]. now apply okc_entry.
    + rewrite !andb_true_iff in H. destruct H as [H1 H2]. apply Nat.eqb_eq in H1. subst.
      change (all_of (QTen k') (ev E w0 fe n e) (fun v => holds fe p (scons v e))
        <-> all_of (QTen k') (ev E w0 fe n e) (fun v => holds fe q1 (scons v e))).
      apply all_of_ext_in. intros v Hv. apply (IHp q1 (CAny :: c)); [|easy].
      split; [exact O|]. destruct Hv as (T & ->). reflexivity.
  - destruct r as [k|k|k|k], r0 as [k'|k'|k'|k']; try exact (D _ _ e H).
    + rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3]. apply kind_eqb_eq in H1. subst.
      rewrite <- (B c n n0 e O H2). apply some_of_ext_in. intros v Hv.
      apply (IHp q1 (entry_of (QNum k') n :: c)); [|easy]. now apply okc_entry.
    + rewrite !andb_true_iff in H. destruct H as [H1 H2]. apply Nat.eqb_eq in H1. subst.
      change (some_of (QTen k') (ev E w0 fe n e) (fun v => holds fe p (scons v e))
        <-> some_of (QTen k') (ev E w0 fe n e) (fun v => holds fe q1 (scons v e))).
      apply some_of_ext_in. intros v Hv. apply (IHp q1 (CAny :: c)); [|easy].
      split; [exact O|]. destruct Hv as (T & ->). reflexivity.
Qed.

Notation holds0 fe p := (holds fe p e0).
Lemma equal_ok : forall fe p q, equal p q = true -> (holds0 fe p <-> holds0 fe q).
Proof.
  intros fe p q H. unfold equal in H. rewrite or_if in H. apply orb_true_iff in H. destruct H as [H|H].
  - apply feqb_eq in H. now subst.
  - apply (alike_ok fe p q [] e0); [apply steady_e0|easy].
Qed.

(** *** Members of ranges *)
Fixpoint fn_value fe (k : nat) (h : tm) (e : env) : fn_of k :=
  match k return fn_of k with
  | O => tv fe h w0 e
  | S j => fun x => match h with
    | Lam g => fn_value fe j g (scons (sc x) e)
    | _ => fn_value fe j h (scons (sc x) e)
    end
  end.
Lemma lams_ok : forall fe k h e, lams k h = true -> still h = true -> steady e ->
  forall w l, eval E w0 fe h w e l = ap_list k (fn_value fe k h e) l.
Proof.
  intros fe. induction k as [|k IH]; intros h e L S St w l; cbn [lams] in L.
  - apply negb_true_iff in L. rewrite (eval_scalar E w0 fe h w e l L). cbn [ap_list fn_value].
    now apply eval_still.
  - destruct h; try discriminate. cbn [eval ap_list fn_value].
    destruct l as [|[x|f] l]; try reflexivity. apply IH; [easy|easy|now apply steady_sc].
Qed.

Lemma still_value : forall fe t e, still t = true -> steady e ->
  vval E w0 fe (VS t) e = sc (tv fe t w0 e).
Proof.
  intros fe t e S St. apply functional_extensionality. intros w. apply functional_extensionality.
  intros l. cbn [vval]. unfold sc. now apply eval_still.
Qed.

Lemma memberb_ok : forall fe K, known_ok fe K -> forall c r n v e, okc fe c w0 e ->
  memberb K c r n v = true -> in_range r (tv fe n w0 e) (vval E w0 fe v e).
Proof.
  intros fe K HK c r n v e O H. pose proof (okc_steady E w0 fe c w0 e O) as St.
  destruct r as [k|k|k|k]; [|destruct v; try discriminate|destruct v; discriminate|destruct v; discriminate].
  - assert (exists t, v = VS t /\ still t = true /\ member k (tv fe n w0 e) (tv fe t w0 e)) as
      (t & -> & S & M); [|exists (tv fe t w0 e); split; [easy|now apply still_value]].
    destruct k, v; try discriminate; cbn [memberb] in H; exists t;
      (split; [reflexivity|]); rewrite ?andb_true_iff in H; cbn [member].
    + easy.
    + destruct H as [H1 H2]. split; [easy|].
      apply (intp_ok E w0 fe K HK _ c w0 e O) in H2. now rewrite pf_ok in H2.
    + destruct H as [H1 H2]. split; [easy|]. now apply (natk_ok fe K HK c).
    + destruct H as (H1 & H2 & H3). split; [easy|].
      apply (intp_ok E w0 fe K HK _ c w0 e O) in H2. rewrite pf_ok in H2 by easy.
      apply (nnk_ok fe K HK c _ w0 e O) in H3.
      rewrite pfin_ok, minus_ok, pf_ok, peval_const, Q2R_one in H3 by easy.
      split; [easy|lra].
    + destruct H as [H1 H2]. split; [easy|]. now apply (withink_ok fe K HK c).
  - cbn [memberb] in H. apply andb_true_iff in H. destruct H as [H1 H2].
    exists (fn_value fe k h e). apply functional_extensionality. intros w.
    apply functional_extensionality. intros l. cbn [vval]. unfold det. now apply lams_ok.
Qed.

(** *** Facts *)
Lemma signs_of_ok : forall fe s t, sign_ok s (tv fe t w0 e0) ->
  forall u s', In (u, s') (signs_of s t) ->
    closed 0 u = true /\ still u = true /\ sign_ok s' (tv fe u w0 e0).
Proof.
  intros fe s t H u s' I. unfold signs_of in I. apply filter_In in I. destruct I as [I C].
  cbn [fst] in C. apply andb_true_iff in C. destruct C as [C1 C2]. split; [easy|]. split; [easy|].
  pose proof (pf_ok fe nothing (nothing_ok E w0 fe) [] t w0 e0 steady_e0) as Pt.
  set (q := pf nothing [] t) in *. clearbody q. rewrite <- Pt in H. clear Pt t.
  destruct I as [I|[I|I]].
  - injection I as <- <-. now rewrite tv_to_tm.
  - injection I as <- <-. rewrite tv_to_tm. unfold unit_lead. rewrite peval_scale, Q2R_inv0.
    pose proof (lead_abs_pos q) as L. apply Rinv_0_lt_compat in L.
    destruct s; cbn [sign_ok] in *; try easy.
    + apply Rmult_integral_contrapositive_currified; lra.
    + apply Rmult_le_pos; lra.
    + now apply Rmult_lt_0_compat.
  - destruct (is_nz s) eqn:Z; [|contradiction]. pose proof (is_nz_ok _ _ Z H) as NZ.
    destruct I as [I|I].
    + injection I as <- <-. rewrite tv_to_tm. cbn [sign_ok]. intros X.
      pose proof (monic_ok E w0 fe q w0 e0) as M. rewrite X, Rmult_0_r in M. lra.
    + destruct q as [|[c [[|n ss] fs]] [|? ?]]; try contradiction.
      apply in_map_iff in I. destruct I as ([v k] & Ev & I). cbn [fst] in Ev.
      injection Ev as <- <-. apply filter_In in I. destruct I as [I Hk]. cbn [snd] in Hk.
      apply Nat.ltb_lt in Hk. cbn [sign_ok]. intros X0.
      assert (tv fe v w0 e0 = 0) as X.
      { destruct v; try exact X0. cbn [bare] in X0. rewrite tv_inv, X0. apply Rinv_0. }
      clear X0. apply NZ. cbn [Poly.peval].
      unfold Poly.meval. cbn [fst snd Poly.msum].
      assert (Poly.fprod E w0 fe fs w0 e0 = 0) as ->; [|ring].
      clear - I Hk X. induction fs as [|[u j] fs IH]; [contradiction|]. cbn [Poly.fprod].
      destruct I as [I|I].
      * injection I as -> ->. rewrite X, pow_i by easy. ring.
      * rewrite (IH I). ring.
Qed.

Lemma fact_ok : forall fe p, holds0 fe p -> known_ok fe (fact p).
Proof.
  intros fe p H. destruct p; try apply nothing_ok; cbn [fact Terms.holds] in *.
  - split; [|intros t I; contradiction]. cbn [ksign]. intros t s I.
    apply (signs_of_ok fe SNn (diff b a)); [|easy]. cbn [sign_ok]. rewrite tv_diff.
    rewrite !ev_tv in H. lra.
  - split; [|intros t I; contradiction]. cbn [ksign]. intros t s I.
    apply (signs_of_ok fe SPos (diff b a)); [|easy]. cbn [sign_ok]. rewrite tv_diff.
    rewrite !ev_tv in H. lra.
  - split; [intros t s I; contradiction|]. cbn [kint]. intros t I.
    destruct (closed 0 (to_tm (pf nothing [] a)) && still (to_tm (pf nothing [] a))) eqn:C;
      [|contradiction].
    apply andb_true_iff in C. destruct C as [C1 C2]. destruct I as [<- | []].
    split; [easy|]. split; [easy|]. rewrite tv_to_tm.
    rewrite (pf_ok fe nothing (nothing_ok E w0 fe)) by apply steady_e0. exact H.
  - destruct p; try apply nothing_ok. split; [|intros t I; contradiction]. cbn [ksign].
    intros t s I. apply (signs_of_ok fe SNz (diff a b)); [|easy]. cbn [sign_ok]. rewrite tv_diff.
    cbn [Terms.holds] in H. rewrite !ev_tv in H. lra.
Qed.

Lemma facts_ok : forall fe ps, (forall p, In p ps -> holds0 fe p) -> known_ok fe (facts ps).
Proof.
  intros fe. induction ps as [|p ps IH]; intros H; cbn [facts]; [apply nothing_ok|].
  destruct (fact_ok fe p) as [A B]; [apply H; now left|].
  destruct IH as [C D]; [intros; apply H; now right|].
  split; cbn [ksign kint].
  - intros t s I. apply in_app_iff in I. destruct I as [I|I]; [exact (A t s I)|exact (C t s I)].
  - intros t I. apply in_app_iff in I. destruct I as [I|I]; [exact (B t I)|exact (D t I)].
Qed.

(** *** Sequents *)
Definition valid (t : thm) : Prop :=
  forall fe, (forall h, In h (fst t) -> holds0 fe h) -> holds0 fe (snd t).

Lemma fmem_ok : forall p l, fmem p l = true -> In p l.
Proof.
  intros p. induction l as [|q l IH]; intros H; cbn [fmem] in H; [discriminate|].
  apply orb_true_iff in H. destruct H as [H|H]; [left; symmetry; now apply feqb_eq|right; auto].
Qed.
Lemma union_l : forall a b p, In p a -> In p (union a b).
Proof.
  induction a as [|q a IH]; intros b p I; [contradiction|]. cbn [union].
  destruct (fmem q b) eqn:M.
  - destruct I as [<- | I]; [|auto]. apply fmem_ok in M. clear - M.
    induction a as [|r a IH]; cbn [union]; [easy|]. destruct (fmem r b); [auto|right; auto].
  - destruct I as [<- | I]; [now left|right; auto].
Qed.
Lemma union_r : forall a b p, In p b -> In p (union a b).
Proof.
  induction a as [|q a IH]; intros b p I; cbn [union]; [easy|]. destruct (fmem q b); [auto|right; auto].
Qed.
Lemma unions_in : forall ts t p, In t ts -> In p (fst t) -> In p (unions ts).
Proof.
  induction ts as [|u ts IH]; intros t p I J; [contradiction|]. cbn [unions].
  destruct I as [<- | I]; [now apply union_l|apply union_r; eauto].
Qed.
Lemma without_in : forall h l p, In p l -> p = h \/ In p (without h l).
Proof.
  intros h. induction l as [|q l IH]; intros p I; [contradiction|]. cbn [without].
  destruct (feqb q h) eqn:Q.
  - apply feqb_eq in Q. destruct I as [<- | I]; [now left|auto].
  - destruct I as [<- | I]; [right; now left|]. destruct (IH p I); [now left|right; now right].
Qed.
Lemma unions_valid : forall ts fe, Forall valid ts ->
  (forall h, In h (unions ts) -> holds0 fe h) -> forall t, In t ts -> holds0 fe (snd t).
Proof.
  intros ts fe V H t I. rewrite Forall_forall in V. apply (V t I). intros h Hh. apply H.
  now apply (unions_in ts t).
Qed.
Lemma facts_valid : forall ts fe, Forall valid ts ->
  (forall h, In h (unions ts) -> holds0 fe h) -> known_ok fe (facts (map snd ts)).
Proof.
  intros ts fe V H. apply facts_ok. intros p I. apply in_map_iff in I.
  destruct I as (t & <- & I). now apply (unions_valid ts fe).
Qed.

Ltac rule H :=
  let fe := fresh "fe" in let G := fresh "G" in
  repeat match type of H with
  | match ?x with _ => _ end = Some _ => destruct x eqn:?; try discriminate
  | check ?b _ = Some _ => unfold check in H
  | (if ?b then _ else _) = Some _ => destruct b eqn:?; try discriminate
  end; injection H as <-; intros fe G; cbn [fst snd] in *;
  repeat match goal with K : _ && _ = true |- _ => apply andb_true_iff in K; destruct K end.

(** *** Logic *)
Lemma assume_ok : forall p t, r_assume p = Some t -> valid t.
Proof. intros p t H. unfold r_assume in H. rule H. apply G. now left. Qed.

Lemma conjoin_ok : forall fe ps, (forall p, In p ps -> holds0 fe p) -> holds0 fe (conjoin ps).
Proof.
  intros fe. induction ps as [|p [|q ps] IH]; intros H; cbn [conjoin Terms.holds]; [easy| |].
  - apply H. now left.
  - split; [apply H; now left|apply IH; intros; apply H; now right].
Qed.
Lemma conj_ok : forall ts t, Forall valid ts -> r_conj ts = Some t -> valid t.
Proof.
  intros ts t V H. unfold r_conj in H. rule H. apply conjoin_ok. intros p I.
  apply in_map_iff in I. destruct I as (u & <- & I). now apply (unions_valid ts fe).
Qed.

Lemma part_conj : forall fe n i p q, part true i n p = Some q -> holds0 fe p -> holds0 fe q.
Proof.
  intros fe. induction n as [|[|n] IH]; intros i p q H P0; cbn [part] in H; [discriminate| |].
  - destruct i; [now injection H as <-|discriminate].
  - destruct p; try discriminate. destruct P0 as [A B].
    destruct i; [now injection H as <-|]. now apply (IH i p2).
Qed.
Lemma part_disj : forall fe n i p q, part false i n p = Some q -> holds0 fe q -> holds0 fe p.
Proof.
  intros fe. induction n as [|[|n] IH]; intros i p q H P0; cbn [part] in H; [discriminate| |].
  - destruct i; [now injection H as <-|discriminate].
  - destruct p; try discriminate. cbn [Terms.holds].
    destruct i; [injection H as <-; now left|]. right. now apply (IH i p2 q).
Qed.
Lemma conjunct_ok : forall p i n t, valid p -> r_conjunct p i n = Some t -> valid t.
Proof. intros p i n t V H. unfold r_conjunct in H. rule H. apply (part_conj fe n i (snd p)); auto. Qed.

Lemma discharge_ok : forall p h t, valid p -> r_discharge p h = Some t -> valid t.
Proof.
  intros p h t V H. unfold r_discharge in H. rule H. intros Hh. apply V. intros k I.
  destruct (without_in h _ k I) as [-> | J]; auto.
Qed.
Lemma mp_ok : forall i p t, valid i -> valid p -> r_mp i p = Some t -> valid t.
Proof.
  intros i p t Vi Vp H. unfold r_mp in H. rule H.
  assert (holds0 fe (snd i)) as Hi by (apply Vi; intros; apply G; now apply union_l).
  rewrite Heqf in Hi. apply Hi. apply (equal_ok fe _ _ Heqb). apply Vp. intros. apply G.
  now apply union_r.
Qed.

Lemma suits_value : forall fe r n x v, in_range r (ev E w0 fe n e0) v ->
  lacks x n = true -> suits E w0 fe (mode_of r n) x v.
Proof.
  intros fe r n x v H L. destruct r; cbn [in_range mode_of suits] in *.
  - destruct H as (y & M & ->). now exists y.
  - destruct H as (T & ->). now exists (ap_list k T).
  - destruct H as (T & ->). now exists (ap_fun k T).
  - easy.
Qed.
Lemma generalise_ok : forall p r x n t, valid p -> r_generalise p r x n = Some t -> valid t.
Proof.
  intros p r x n t V H. unfold r_generalise in H. rule H. cbn [Terms.holds].
  apply all_of_iff. intros v Hv. rewrite <- insert_0.
  apply (holds_bind E w0 fe (mode_of r n) x v); [now apply suits_value|easy|].
  apply V. intros h I. apply holds_flacks; [|now apply G].
  rewrite forallb_forall in H. now apply H.
Qed.

Lemma specialise_ok : forall q fs v t, valid q -> Forall valid fs ->
  r_specialise q fs v = Some t -> valid t.
Proof.
  intros q fs v t Vq Vf H. unfold r_specialise in H. rule H.
  assert (holds0 fe (snd q)) as Hq by (apply Vq; intros; apply G; now apply union_l).
  rewrite Heqf in Hq. cbn [Terms.holds] in Hq. rewrite all_of_iff in Hq.
  apply at_value_ok; [apply steady_e0|]. apply Hq.
  apply (memberb_ok fe (facts (map snd fs))) with (c := []); [|apply steady_e0|easy].
  apply facts_valid; [easy|]. intros; apply G; now apply union_r.
Qed.
Lemma witness_ok : forall p fs goal v t, valid p -> Forall valid fs ->
  r_witness p fs goal v = Some t -> valid t.
Proof.
  intros p fs goal v t Vp Vf H. unfold r_witness in H. rule H. cbn [Terms.holds].
  apply some_of_iff. exists (vval E w0 fe v e0). split.
  - apply (memberb_ok fe (facts (map snd fs))) with (c := []); [|apply steady_e0|easy].
    apply facts_valid; [easy|]. intros; apply G; now apply union_r.
  - apply at_value_ok; [apply steady_e0|]. apply (equal_ok fe _ _ H0). apply Vp.
    intros; apply G; now apply union_l.
Qed.

Lemma choose_ok : forall some use x t, valid some -> valid use -> r_choose some use x = Some t ->
  valid t.
Proof.
  intros some use x t Vs Vu H. unfold r_choose in H. rule H.
  assert (holds0 fe (snd some)) as Hs by (apply Vs; intros; apply G; now apply union_r).
  rewrite Heqf in Hs. cbn [Terms.holds] in Hs. apply some_of_iff in Hs. destruct Hs as (u & Iu & Hu).
  apply (holds_flacks E w0 fe x u); [easy|]. apply Vu. intros h Ih.
  match type of Heqf with snd some = FEx _ _ ?q =>
    destruct (without_in (finst v q) _ h Ih) as [-> | J] end.
  - apply holds_finst. apply holds_flacks; [easy|].
    assert (vval E w0 (upd fe x u) v e0 = u) as ->; [|exact Hu].
    destruct r; cbn [name_of] in Heqo; try discriminate; injection Heqo as <-;
      cbn [in_range] in Iu; cbn [vval].
    + destruct Iu as (y & M & ->). apply functional_extensionality. intros w.
      apply functional_extensionality. intros l. cbn [eval]. unfold upd at 2.
      rewrite Pos.eqb_refl. rewrite eval_lacks by easy. unfold sc.
      now apply clamp_member.
    + destruct Iu as (T & ->). apply functional_extensionality. intros w.
      apply functional_extensionality. intros l. cbn [eval]. unfold upd. now rewrite Pos.eqb_refl.
  - apply holds_flacks; [|apply G; now apply union_l].
    rewrite forallb_forall in H. now apply H.
Qed.

Lemma cases_ok : forall fe us p q l, cases p us q = Some l -> Forall valid us ->
  (forall h, In h l -> holds0 fe h) -> holds0 fe p -> holds0 fe q.
Proof.
  intros fe. induction us as [|u [|u' us] IH]; intros p q l H V G Hp; [discriminate| |].
  - cbn [cases] in H. destruct (equal (snd u) q) eqn:Q; [|discriminate]. injection H as <-.
    apply (equal_ok fe _ _ Q). inversion V; subst. apply H1. intros h I.
    destruct (without_in p _ h I) as [-> | J]; auto.
  - remember (u' :: us) as us'. cbn [cases] in H. rewrite Hequs' in H at 1.
    destruct p; try discriminate. destruct (equal (snd u) q) eqn:Q; [|discriminate].
    destruct (cases p2 us' q) as [l'|] eqn:C; [|discriminate]. injection H as <-.
    inversion V; subst. destruct Hp as [Hp|Hp].
    + apply (equal_ok fe _ _ Q). apply H1. intros h I.
      destruct (without_in p1 _ h I) as [-> | J]; [easy|]. apply G. now apply union_l.
    + apply (IH p2 q l' C H2); [|easy]. intros h I. apply G. now apply union_r.
Qed.
Lemma r_cases_ok : forall some us t, valid some -> Forall valid us -> r_cases some us = Some t ->
  valid t.
Proof.
  intros some us t Vs Vu H. unfold r_cases in H.
  destruct us as [|u us]; [discriminate|].
  destruct (cases (snd some) (u :: us) (snd u)) as [l|] eqn:C; [|discriminate].
  injection H as <-. intros fe G. cbn [fst snd] in *.
  apply (cases_ok fe (u :: us) (snd some) (snd u) l C Vu).
  - intros h I. apply G. now apply union_r.
  - apply Vs. intros h I. apply G. now apply union_l.
Qed.

Lemma disjunct_ok : forall p goal i n t, valid p -> r_disjunct p goal i n = Some t -> valid t.
Proof.
  intros p goal i n t V H. unfold r_disjunct in H. rule H.
  apply (part_disj fe n i goal f Heqo). apply (equal_ok fe _ _ Heqb). auto.
Qed.
Lemma excluded_ok : forall p t, r_excluded p = Some t -> valid t.
Proof. intros p t H. unfold r_excluded in H. rule H. cbn [Terms.holds]. apply classic. Qed.
Lemma contradiction_ok : forall p q goal t, valid p -> valid q ->
  r_contradiction p q goal = Some t -> valid t.
Proof.
  intros p q goal t Vp Vq H. unfold r_contradiction in H. rule H. exfalso.
  assert (holds0 fe (snd q)) as Hq by (apply Vq; intros; apply G; now apply union_r).
  rewrite Heqf in Hq. apply Hq. apply (equal_ok fe _ _ Heqb). apply Vp. intros. apply G.
  now apply union_l.
Qed.
Lemma deny_ok : forall p h t, valid p -> r_deny p h = Some t -> valid t.
Proof.
  intros p h t V H. unfold r_deny in H. rule H. cbn [Terms.holds]. intros Hh.
  assert (holds0 fe (snd p)) as Hp.
  { apply V. intros k I. destruct (without_in h _ k I) as [-> | J]; auto. }
  apply (equal_ok fe _ _ Heqb) in Hp. now apply Hp.
Qed.
Lemma not_implies_ok : forall p q t, valid p -> valid q -> r_not_implies p q = Some t -> valid t.
Proof.
  intros p q t Vp Vq H. unfold r_not_implies in H. rule H.
  assert (holds0 fe (snd q)) as Hq by (apply Vq; intros; apply G; now apply union_r).
  assert (holds0 fe (snd p)) as Hp by (apply Vp; intros; apply G; now apply union_l).
  rewrite Heqf in Hq. cbn [Terms.holds] in *. tauto.
Qed.
Lemma not_forall_ok : forall p fs goal v t, valid p -> Forall valid fs ->
  r_not_forall p fs goal v = Some t -> valid t.
Proof.
  intros p fs goal v t Vp Vf H. unfold r_not_forall in H. rule H. cbn [Terms.holds].
  intros A. rewrite all_of_iff in A.
  assert (holds0 fe (snd p)) as Hp by (apply Vp; intros; apply G; now apply union_l).
  apply (equal_ok fe _ _ H0) in Hp. apply Hp. apply at_value_ok; [apply steady_e0|].
  apply A. apply (memberb_ok fe (facts (map snd fs))) with (c := []); [|apply steady_e0|easy].
  apply facts_valid; [easy|]. intros; apply G; now apply union_r.
Qed.
Lemma not_conj_ok : forall p goal i n t, valid p -> r_not_conj p goal i n = Some t -> valid t.
Proof.
  intros p goal i n t V H. unfold r_not_conj in H. rule H. cbn [Terms.holds]. intros A.
  match type of Heqo with part true i n ?q = Some ?f => apply (part_conj fe n i q f Heqo) in A end.
  assert (holds0 fe (snd p)) as Hp by auto. apply (equal_ok fe _ _ Heqb) in Hp. now apply Hp.
Qed.

Lemma int_ind_R : forall P : R -> Prop, P 0 -> (forall x, is_nat x -> P x -> P (x + 1)) ->
  forall x, is_nat x -> P x.
Proof.
  intros P B S x [[z ->] L]. apply le_IZR in L.
  rewrite <- (Z2Nat.id z L), <- INR_IZR_INZ.
  induction (Z.to_nat z) as [|k IH]; [exact B|]. rewrite S_INR. apply S; [|exact IH].
  split; [apply int_INR|apply pos_INR].
Qed.

Lemma induction_ok : forall base step t, valid base -> valid step ->
  r_induction base step = Some t -> valid t.
Proof.
  intros base step t Vb Vs H. unfold r_induction in H. rule H.
  assert (holds0 fe (snd step)) as Hs by (apply Vs; intros; apply G; now apply union_r).
  assert (holds0 fe (snd base)) as Hb by (apply Vb; intros; apply G; now apply union_l).
  rewrite Heqf in Hs. cbn [Terms.holds all_of] in Hs. cbn [Terms.holds all_of].
  apply (equal_ok fe _ _ H) in Hb. apply holds_finst in Hb.
  apply int_ind_R.
  - exact Hb.
  - intros x Nx Hx. specialize (Hs x Nx Hx).
    match type of Heqf with snd step = FAll _ _ (FImp ?p _) =>
      assert (holds fe (fsub successor p) (scons (sc x) e0)) as Hn end.
    { rewrite or_if in H0. apply orb_true_iff in H0. destruct H0 as [H0|H0].
      - apply feqb_eq in H0. now rewrite H0.
      - apply (alike_ok fe _ _ [CNat] (scons (sc x) e0)) in H0; [now apply H0|].
        split; [apply steady_e0|]. now exists x. }
    apply holds_fsub in Hn.
    replace (scons (sc (x + 1)) e0) with
      (fun k => vval E w0 fe (successor k) (scons (sc x) e0)); [exact Hn|].
    apply functional_extensionality. now intros [|j].
Qed.

(** *** Linear combinations and orders *)
Lemma open_ok : forall fe K, known_ok fe K -> forall c vs p q e, okc fe c w0 e ->
  open K c p vs = Some q -> holds fe p e -> holds fe q e.
Proof.
  intros fe K HK c. induction vs as [|v vs IH]; intros p q e O H Hp; cbn [open] in H.
  - now injection H as <-.
  - destruct p; try discriminate. destruct (memberb K c r n v) eqn:M; [|discriminate].
    apply (IH _ q e O H). apply at_value_ok; [now apply (okc_steady E w0 fe c w0)|].
    cbn [Terms.holds] in Hp. rewrite all_of_iff in Hp. apply Hp.
    now apply (memberb_ok fe K HK c).
Qed.

Definition rel_ok (d : rel) (x : R) : Prop :=
  match d with REq => x = 0 | RLe => 0 <= x | RLt => 0 < x end.

Lemma relations_ok : forall fe K, known_ok fe K -> forall ps, (forall p, In p ps -> holds0 fe p) ->
  forall c us l e, okc fe c w0 e -> relations K c ps us = Some l ->
  Forall (fun d => rel_ok (fst d) (tv fe (snd d) w0 e)) l.
Proof.
  intros fe K HK ps HP c. induction us as [|[k vs] us IH]; intros l e O H; cbn [relations] in H.
  - injection H as <-. constructor.
  - destruct (nth_error ps k) as [p|] eqn:N; [|discriminate].
    destruct (fclosed 0 p) eqn:C; [|discriminate].
    destruct (open K c p vs) as [q|] eqn:Op; [|discriminate].
    destruct (relation q) as [d|] eqn:Rq; [|discriminate].
    destruct (relations K c ps us) as [l'|] eqn:L; [|discriminate]. injection H as <-.
    constructor; [|now apply IH].
    assert (holds fe q e) as Hq.
    { apply (open_ok fe K HK c vs p q e O Op). apply (holds_closed fe p 0 e0 e C).
      - intros i Hi. lia.
      - apply HP. now apply (nth_error_In ps k). }
    destruct q; try discriminate; injection Rq as <-; cbn [Terms.holds] in Hq;
      rewrite !ev_tv in Hq; cbn [fst snd rel_ok]; rewrite tv_diff; lra.
Qed.

Lemma tv_product : forall fe l t e, tv fe (product_tm t l) w0 e
  = tv fe t w0 e * fold_right Rmult 1 (map (fun d => tv fe (snd d) w0 e) l).
Proof.
  intros fe. induction l as [|[r d] l IH]; intros t e; cbn [product_tm map fold_right snd]; [ring|].
  rewrite IH. unfold Poly.tv. cbn [eval]. ring.
Qed.
Lemma has_eq_0 : forall fe l e, Forall (fun d => rel_ok (fst d) (tv fe (snd d) w0 e)) l ->
  has_eq l = true -> fold_right Rmult 1 (map (fun d => tv fe (snd d) w0 e) l) = 0.
Proof.
  intros fe l e H Q. induction H as [|[r d] l Hd Hl IH]; [discriminate|].
  cbn [map fold_right snd]. cbn [has_eq existsb fst] in Q. apply orb_true_iff in Q.
  destruct Q as [Q|Q].
  - destruct r; try discriminate. cbn [fst snd rel_ok] in Hd. rewrite Hd. ring.
  - rewrite IH by easy. ring.
Qed.
Lemma no_eq_nonneg : forall fe l e, Forall (fun d => rel_ok (fst d) (tv fe (snd d) w0 e)) l ->
  0 <= fold_right Rmult 1 (map (fun d => tv fe (snd d) w0 e) l).
Proof.
  intros fe l e H. induction H as [|[r d] l Hd Hl IH]; cbn [map fold_right snd]; [lra|].
  apply Rmult_le_pos; [|easy]. destruct r; cbn [fst snd rel_ok] in Hd; lra.
Qed.
Lemma all_lt_pos : forall fe l e, Forall (fun d => rel_ok (fst d) (tv fe (snd d) w0 e)) l ->
  all_lt l = true -> 0 < fold_right Rmult 1 (map (fun d => tv fe (snd d) w0 e) l).
Proof.
  intros fe l e H Q. induction H as [|[r d] l Hd Hl IH]; cbn [map fold_right snd]; [lra|].
  cbn [all_lt forallb fst] in Q. apply andb_true_iff in Q. destruct Q as [Q1 Q2].
  apply Rmult_lt_0_compat; [|now apply IH]. destruct r; try discriminate. exact Hd.
Qed.

Lemma tv_sums : forall fe ns t e,
  tv fe (sums_tm ns t) w0 e = Poly.msum E w0 fe ns w0 e (fun e' => tv fe t w0 e').
Proof.
  intros fe. induction ns as [|n ns IH]; intros t e; cbn [sums_tm Poly.msum]; [reflexivity|].
  unfold Poly.tv at 1. cbn [eval]. apply Sum_ext. intros i _. apply IH.
Qed.
Lemma msum_nonneg : forall fe ns c e G, okc fe c w0 e ->
  (forall e', okc fe (ext c ns) w0 e' -> 0 <= G e') -> 0 <= Poly.msum E w0 fe ns w0 e G.
Proof.
  intros fe. induction ns as [|n ns IH]; intros c e G O H; cbn [Poly.msum]; [now apply H|].
  apply Sum_nonneg. intros i Hi. apply (IH (CIdx n :: c)); [now apply okc_idx|easy].
Qed.
Lemma msum_pos : forall fe K, known_ok fe K -> forall ns c e G, okc fe c w0 e ->
  all_sizes K c ns = true ->
  (forall e', okc fe (ext c ns) w0 e' -> 0 < G e') -> 0 < Poly.msum E w0 fe ns w0 e G.
Proof.
  intros fe K HK. induction ns as [|n ns IH]; intros c e G O S H; cbn [Poly.msum]; [now apply H|].
  cbn [all_sizes] in S. apply andb_true_iff in S. destruct S as [S1 S2]. apply Sum_pos.
  - apply (is_pos_ok _ _ S1). now apply sgn_ok.
  - intros i Hi. apply (IH (CIdx n :: c)); [now apply okc_idx|easy|easy].
Qed.

Lemma sign_of_ok : forall fe K, known_ok fe K -> forall t c e, okc fe c w0 e ->
  sign_ok (sign_of K c t) (tv fe t w0 e).
Proof.
  intros fe K HK.
  assert (forall t c e, okc fe c w0 e ->
    sign_ok (both (sgn K c t) (sgn K c (to_tm (pf K c t)))) (tv fe t w0 e)) as B.
  { intros t c e O. apply both_ok; [now apply sgn_ok|].
    rewrite <- (pf_ok fe K HK c t w0 e O), <- tv_to_tm. now apply sgn_ok. }
  induction t; intros c e O; cbn [sign_of]; (apply both_ok; [now apply B|]); try exact Logic.I.
  - apply (of_mul_ok _ _ (tv fe t1 w0 e) (tv fe t2 w0 e)); auto.
  - apply (of_inv_ok _ (tv fe t w0 e)). auto.
  - apply (of_pow_ok _ (tv fe t w0 e) k). auto.
Qed.

Lemma eq_item_ok : forall fe K, known_ok fe K -> forall ps, (forall p, In p ps -> holds0 fe p) ->
  forall i v, eq_item K ps i = Some v -> tv fe v w0 e0 = 0.
Proof.
  intros fe K HK ps HP i v H. unfold eq_item in H.
  destruct (relations K (ext [] (sizes i)) ps (uses i)) as [l|] eqn:L; [|discriminate].
  destruct (has_eq l) eqn:Q; [|discriminate]. injection H as <-.
  rewrite tv_sums. transitivity (Poly.msum E w0 fe (sizes i) w0 e0 (fun _ => 0)).
  - apply (msum_ext E w0 fe (sizes i) [] w0 e0); [apply steady_e0|]. intros e' O'.
    rewrite tv_product, (has_eq_0 fe l e'); [ring| |easy].
    exact (relations_ok fe K HK ps HP _ (uses i) l e' O' L).
  - apply msum_0.
Qed.

Lemma le_item_ok : forall fe K, known_ok fe K -> forall ps, (forall p, In p ps -> holds0 fe p) ->
  forall i v, le_item K ps i = Some v ->
  0 <= tv fe (fst v) w0 e0 /\ (snd v = true -> 0 < tv fe (fst v) w0 e0).
Proof.
  intros fe K HK ps HP i v H. unfold le_item in H.
  set (c := ext [] (sizes i)) in *.
  destruct (relations K c ps (uses i)) as [l|] eqn:L; [|discriminate].
  assert (forall e', okc fe c w0 e' ->
    Forall (fun d => rel_ok (fst d) (tv fe (snd d) w0 e')) l) as HL
    by (intros e' O'; exact (relations_ok fe K HK ps HP c (uses i) l e' O' L)).
  destruct (has_eq l) eqn:Q.
  - injection H as <-. cbn [fst snd]. split; [|discriminate]. right. symmetry.
    rewrite tv_sums. transitivity (Poly.msum E w0 fe (sizes i) w0 e0 (fun _ => 0)); [|apply msum_0].
    apply (msum_ext E w0 fe (sizes i) [] w0 e0); [apply steady_e0|]. intros e' O'.
    rewrite tv_product, (has_eq_0 fe l e'); [ring|now apply HL|easy].
  - set (s := sign_of K c (cofactor i)) in H. destruct (is_nn s) eqn:S; [|discriminate]. injection H as <-.
    cbn [fst snd].
    assert (forall e', okc fe c w0 e' -> sign_ok s (tv fe (cofactor i) w0 e')) as HS.
    { intros e' O'. now apply sign_of_ok. }
    split.
    + rewrite tv_sums. apply (msum_nonneg fe (sizes i) []); [apply steady_e0|]. intros e' O'.
      rewrite tv_product. apply Rmult_le_pos; [apply (is_nn_ok _ _ S); auto|].
      apply no_eq_nonneg. auto.
    + intros B. rewrite !andb_true_iff in B. destruct B as [[B1 B2] B3].
      rewrite tv_sums. apply (msum_pos fe K HK (sizes i) []); [apply steady_e0|easy|].
      intros e' O'. rewrite tv_product. apply Rmult_lt_0_compat; [apply (is_pos_ok _ _ B1); auto|].
      apply all_lt_pos; auto.
Qed.

Lemma tv_minus_items : forall fe vs t, tv fe (minus_items t vs) w0 e0
  = tv fe t w0 e0 - fold_right Rplus 0 (map (fun v => tv fe v w0 e0) vs).
Proof.
  intros fe. induction vs as [|v vs IH]; intros t; cbn [minus_items map fold_right]; [ring|].
  rewrite IH, tv_diff. ring.
Qed.
Lemma traverse_ok : forall (A B : Type) (f : A -> option B) (Q : B -> Prop) l r,
  traverse f l = Some r -> (forall a b, f a = Some b -> Q b) -> Forall Q r.
Proof.
  intros A B f Q. induction l as [|a l IH]; intros r H K; cbn [traverse] in H.
  - injection H as <-. constructor.
  - destruct (f a) as [b|] eqn:Fa; [|discriminate].
    destruct (traverse f l) as [s|] eqn:Tr; [|discriminate]. injection H as <-.
    constructor; eauto.
Qed.

Lemma combination_ok : forall fe ps fs goal is_, (forall p, In p ps -> holds0 fe p) ->
  known_ok fe (facts fs) -> combination ps fs goal is_ = true -> holds0 fe goal.
Proof.
  intros fe ps fs goal is_ HP HK H. unfold combination in H. destruct goal; try discriminate.
  destruct (traverse (eq_item (facts fs) ps) is_) as [vs|] eqn:T; [|discriminate].
  pose proof (pf_ok fe _ HK [] (minus_items (diff a b) vs) w0 e0 steady_e0) as Pt.
  destruct (pf (facts fs) [] (minus_items (diff a b) vs)); [|discriminate].
  rewrite tv_minus_items, tv_diff in Pt. cbn [Poly.peval] in Pt.
  assert (Forall (fun v => tv fe v w0 e0 = 0) vs) as Z.
  { apply (traverse_ok _ _ _ _ _ _ T). intros i v Hi. now apply (eq_item_ok fe _ HK ps HP i). }
  assert (fold_right Rplus 0 (map (fun v => tv fe v w0 e0) vs) = 0) as S.
  { clear - Z. induction Z as [|v vs Hv _ IH]; cbn [map fold_right]; [easy|]. rewrite Hv, IH. ring. }
  cbn [Terms.holds]. rewrite !ev_tv. lra.
Qed.

Lemma known_sign_ok : forall fe K, known_ok fe K -> forall p,
  sign_ok (known_sign K p) (peval fe p w0 e0).
Proof.
  intros fe K HK p. unfold known_sign.
  assert (sign_ok (sgn K [] (to_tm p)) (peval fe p w0 e0)) as S.
  { rewrite <- tv_to_tm. apply sgn_ok; [easy|apply steady_e0]. }
  destruct (is_pos (sgn K [] (to_tm p))); [easy|].
  destruct (nn K (nf K) [] (fin (nf K) [] (minus p (pconst 1)))) eqn:N1.
  - apply (nnk_ok fe K HK [] _ w0 e0 steady_e0) in N1.
    rewrite pfin_ok, minus_ok, peval_const, Q2R_one in N1 by (easy || apply steady_e0).
    cbn [sign_ok]. lra.
  - apply both_ok; [easy|]. destruct (nn K (nf K) [] p) eqn:N2; [|easy].
    now apply (nnk_ok fe K HK [] _ w0 e0 steady_e0).
Qed.

Lemma order_ok : forall fe ps fs goal is_, (forall p, In p ps -> holds0 fe p) ->
  known_ok fe (facts fs) -> order ps fs goal is_ = true -> holds0 fe goal.
Proof.
  intros fe ps fs goal is_ HP HK H. unfold order in H.
  destruct (traverse (le_item (facts fs) ps) is_) as [vs|] eqn:T; [|discriminate].
  assert (Forall (fun v => 0 <= tv fe (fst v) w0 e0 /\ (snd v = true -> 0 < tv fe (fst v) w0 e0)) vs)
    as Z.
  { apply (traverse_ok _ _ _ _ _ _ T). intros i v Hi. now apply (le_item_ok fe _ HK ps HP i). }
  assert (0 <= fold_right Rplus 0 (map (fun v => tv fe v w0 e0) (map fst vs)) /\
    (existsb snd vs = true -> 0 < fold_right Rplus 0 (map (fun v => tv fe v w0 e0) (map fst vs))))
    as [S1 S2].
  { clear - Z. induction Z as [|v vs [H0 H1] _ [IH1 IH2]]; cbn [map fold_right existsb].
    - split; [lra|discriminate].
    - split; [lra|]. intros X. apply orb_true_iff in X. destruct X as [X|X];
        [specialize (H1 X)|specialize (IH2 X)]; lra. }
  destruct goal; try discriminate; cbn [Terms.holds]; rewrite !ev_tv;
    pose proof (known_sign_ok fe _ HK (pf (facts fs) [] (minus_items (diff b a) (map fst vs)))) as KS;
    rewrite (pf_ok fe _ HK [] _ w0 e0 steady_e0), tv_minus_items, tv_diff in KS.
  - apply (is_nn_ok _ _ H) in KS. lra.
  - apply orb_true_iff in H. destruct H as [H|H]; [apply (is_pos_ok _ _ H) in KS; lra|].
    apply andb_true_iff in H. destruct H as [H1 H2]. apply (is_nn_ok _ _ H1) in KS.
    specialize (S2 H2). lra.
Qed.

Lemma r_combination_ok : forall ps fs goal is_ t, Forall valid ps -> Forall valid fs ->
  r_combination ps fs goal is_ = Some t -> valid t.
Proof.
  intros ps fs goal is_ t Vp Vf H. unfold r_combination in H. rule H.
  apply (combination_ok fe (map snd ps) (map snd fs) goal is_); [| |easy].
  - intros p I. apply in_map_iff in I. destruct I as (u & <- & I).
    apply (unions_valid ps fe); [easy| |easy]. intros; apply G; now apply union_l.
  - apply facts_valid; [easy|]. intros; apply G; now apply union_r.
Qed.
Lemma r_order_ok : forall ps fs goal is_ t, Forall valid ps -> Forall valid fs ->
  r_order ps fs goal is_ = Some t -> valid t.
Proof.
  intros ps fs goal is_ t Vp Vf H. unfold r_order in H. rule H.
  apply (order_ok fe (map snd ps) (map snd fs) goal is_); [| |easy].
  - intros p I. apply in_map_iff in I. destruct I as (u & <- & I).
    apply (unions_valid ps fe); [easy| |easy]. intros; apply G; now apply union_l.
  - apply facts_valid; [easy|]. intros; apply G; now apply union_r.
Qed.

Lemma antisymmetry_ok : forall p q t, valid p -> valid q -> r_antisymmetry p q = Some t -> valid t.
Proof.
  intros p q t Vp Vq H. unfold r_antisymmetry in H. rule H.
  assert (holds0 fe (snd p)) as Hp by (apply Vp; intros; apply G; now apply union_l).
  assert (holds0 fe (snd q)) as Hq by (apply Vq; intros; apply G; now apply union_r).
  rewrite Heqf in Hp. rewrite Heqf0 in Hq. cbn [Terms.holds] in *. rewrite !ev_tv in *.
  apply (same_ok fe nothing (nothing_ok E w0 fe) [] _ _ w0 e0 steady_e0) in H.
  apply (same_ok fe nothing (nothing_ok E w0 fe) [] _ _ w0 e0 steady_e0) in H0. lra.
Qed.
Lemma dichotomy_ok : forall a b t, r_dichotomy a b = Some t -> valid t.
Proof. intros a b t H. unfold r_dichotomy in H. rule H. cbn [Terms.holds]. lra. Qed.
Lemma apart_ok : forall p t, valid p -> r_apart p = Some t -> valid t.
Proof.
  intros p t V H. unfold r_apart in H. rule H. pose proof (V fe G) as Hp. rewrite Heqf in Hp.
  cbn [Terms.holds] in *. lra.
Qed.
Lemma not_le_ok : forall p t, valid p -> r_not_le p = Some t -> valid t.
Proof.
  intros p t V H. unfold r_not_le in H. rule H. pose proof (V fe G) as Hp. rewrite Heqf in Hp.
  cbn [Terms.holds] in *. lra.
Qed.

Lemma intk_ok : forall fe K, known_ok fe K -> forall t, intp K [] (pf K [] t) = true ->
  is_int (tv fe t w0 e0).
Proof.
  intros fe K HK t H. apply (intp_ok E w0 fe K HK _ [] w0 e0 steady_e0) in H.
  rewrite pf_ok in H; [easy|easy|apply steady_e0].
Qed.
Lemma gap_ok : forall p fs t, valid p -> Forall valid fs -> r_gap p fs = Some t -> valid t.
Proof.
  intros p fs t V Vf H. unfold r_gap in H. rule H.
  assert (holds0 fe (snd p)) as Hp by (apply V; intros; apply G; now apply union_l).
  assert (known_ok fe (facts (map snd fs))) as HK
    by (apply facts_valid; [easy|]; intros; apply G; now apply union_r).
  rewrite Heqf in Hp. cbn [Terms.holds] in *. rewrite ev_tv.
  apply int_gap; [now apply (intk_ok fe _ HK)|now apply (intk_ok fe _ HK)|exact Hp].
Qed.
Lemma integer_ok : forall fs t p, Forall valid fs -> r_integer fs t = Some p -> valid p.
Proof.
  intros fs t p Vf H. unfold r_integer in H. rule H. cbn [Terms.holds]. rewrite ev_tv.
  apply (intk_ok fe (facts (map snd fs))); [now apply facts_valid|easy].
Qed.

Lemma leibniz_ok : forall e p q t, valid e -> valid p -> r_leibniz e p q = Some t -> valid t.
Proof.
  intros e p q t Ve Vp H. unfold r_leibniz in H. rule H.
  assert (holds0 fe (snd e)) as He by (apply Ve; intros; apply G; now apply union_l).
  assert (holds0 fe (snd p)) as Hp by (apply Vp; intros; apply G; now apply union_r).
  rewrite Heqf in He. cbn [Terms.holds] in He. rewrite !ev_tv in He.
  match goal with K : equal _ _ = true |- _ => apply (equal_ok fe _ _ K) in Hp end.
  apply holds_finst in Hp. apply holds_finst.
  rewrite still_value in * by (easy || apply steady_e0). now rewrite <- He.
Qed.

(** *** Equal bodies, blocks *)
Lemma vec_pair_ok : forall fe n b b' e,
  (forall v, is_index (tv fe n w0 e) v ->
     tv fe b w0 (scons (sc v) e) = tv fe b' w0 (scons (sc v) e)) ->
  forall h h' l, vec_pair n b b' h h' = true ->
    eval E w0 fe h w0 e l = eval E w0 fe h' w0 e l.
Proof.
  intros fe n b b' e H. induction h; intros h' l V; destruct h'; cbn [vec_pair] in V;
    try discriminate.
  - apply andb_true_iff in V. destruct V as [V1 V2]. apply teqb_eq in V1. subst.
    cbn [eval]. now apply IHh1.
  - apply andb_true_iff in V. destruct V as [V0 V]. apply teqb_eq in V0. subst.
    cbn [eval]. apply orb_true_iff in V. destruct V as [V|V].
    + rewrite !andb_true_iff in V. destruct V as [[[V1 V2] V3] V4].
      apply teqb_eq in V1, V2, V3, V4. subst. do 3 f_equal. f_equal. apply vector_ext.
      intros v Iv. now apply H.
    + apply andb_true_iff in V. destruct V as [V1 V2]. apply teqb_eq in V1. subst.
      now apply IHh1.
Qed.
Lemma bodies_ok : forall fe n b b' t t', bodies n b b' t t' = true ->
  (forall v, is_index (tv fe n w0 e0) v ->
     tv fe b w0 (scons (sc v) e0) = tv fe b' w0 (scons (sc v) e0)) ->
  tv fe t w0 e0 = tv fe t' w0 e0.
Proof.
  intros fe n b b' t t' V H. destruct t; try discriminate; destruct t'; try discriminate;
    cbn [bodies] in V.
  - rewrite !andb_true_iff in V. destruct V as [[[V1 V2] V3] V4].
    apply teqb_eq in V1, V2, V3, V4. subst. now apply Sum_ext.
  - rewrite !andb_true_iff in V. destruct V as [[[V1 V2] V3] V4].
    apply teqb_eq in V1, V2, V3, V4. subst. now apply Product_ext.
  - unfold Poly.tv. cbn [eval]. now apply (vec_pair_ok fe n b b' e0 H).
Qed.
Lemma extensionality_ok : forall p t t' s, valid p -> r_extensionality p t t' = Some s -> valid s.
Proof.
  intros p t t' s V H. unfold r_extensionality in H. rule H; pose proof (V fe G) as Hp.
  - rewrite Heqf in Hp. cbn [Terms.holds all_of] in *. rewrite !ev_tv.
    eapply bodies_ok; [eassumption|]. intros v Iv. exact (Hp v Iv).
  - rewrite Heqf in Hp. subst. cbn [Terms.holds all_of] in *. rewrite !ev_tv.
    repeat match goal with K : teqb _ _ = true |- _ => apply teqb_eq in K; subst end.
    unfold det_of, Poly.tv. cbn [eval]. apply Det.Det_ext. intros i j Hi Hj.
    apply (Hp i Hi j). unfold ev. now rewrite eval_lift.
Qed.

Lemma unroll_rule_ok : forall fs product n b t, Forall valid fs ->
  r_unroll fs product n b = Some t -> valid t.
Proof.
  intros fs product n b t Vf H. unfold r_unroll in H. rule H.
  assert (known_ok fe (facts (map snd fs))) as HK by now apply facts_valid.
  assert (is_nat (tv fe n w0 e0)) as Hn
    by (apply (natk_ok fe _ HK []); [apply steady_e0|easy]).
  assert (tv fe (inst (VS n) b) w0 e0 = tv fe b w0 (scons (sc (tv fe n w0 e0)) e0)) as I.
  { unfold Poly.tv at 1. rewrite eval_inst. now rewrite still_value by (easy || apply steady_e0). }
  destruct product; cbn [Terms.holds]; rewrite !ev_tv; unfold Poly.tv at 1 2; cbn [eval];
    change (eval E w0 fe n w0 e0 []) with (tv fe n w0 e0);
    change (eval E w0 fe (inst (VS n) b) w0 e0 []) with (tv fe (inst (VS n) b) w0 e0);
    change (eval E w0 fe one_ w0 e0 []) with 1; rewrite I.
  - now apply Product_last.
  - now apply Sum_last.
Qed.

Lemma block_sum_ok : forall fs m n b t, Forall valid fs -> r_block_sum fs m n b = Some t -> valid t.
Proof.
  intros fs m n b t Vf H. unfold r_block_sum in H. rule H.
  assert (known_ok fe (facts (map snd fs))) as HK by now apply facts_valid.
  assert (is_nat (tv fe m w0 e0)) as Hm by (apply (natk_ok fe _ HK []); [apply steady_e0|easy]).
  assert (is_nat (tv fe n w0 e0)) as Hn by (apply (natk_ok fe _ HK []); [apply steady_e0|easy]).
  cbn [Terms.holds]. rewrite !ev_tv. unfold Poly.tv at 1 2. cbn [eval].
  change (eval E w0 fe n w0 e0 []) with (tv fe n w0 e0).
  change (eval E w0 fe m w0 e0 []) with (tv fe m w0 e0).
  rewrite Sum_block by easy. apply Sum_ext. intros i _. rewrite eval_lift.
  change (eval E w0 fe n w0 e0 []) with (tv fe n w0 e0). apply Sum_ext. intros j _.
  rewrite eval_sub. f_equal. apply functional_extensionality. intros [|k]; [|reflexivity].
  cbn [block_position vval scons]. apply functional_extensionality. intros w.
  apply functional_extensionality. intros l. cbn [eval scons]. rewrite !eval_lift. unfold sc.
  f_equal. f_equal. apply eval_still; [easy|apply steady_e0].
Qed.

Lemma columns_ok : forall rows q k ps c, columns rows q k c ps = true ->
  (forall j, (c <= j < k)%nat ->
     exists p, In p ps /\ equal p (FAll (QNum KFin) rows (fsub (column_position k j) q)) = true)
  /\ (c <= k)%nat.
Proof.
  intros rows q k. induction ps as [|p ps IH]; intros c H; cbn [columns] in H.
  - apply Nat.eqb_eq in H. split; [intros j Hj; lia|lia].
  - apply andb_true_iff in H. destruct H as [H1 H2]. destruct (IH (S c) H2) as [A B].
    split; [|lia]. intros j Hj. destruct (Nat.eq_dec j c) as [-> | Nj].
    + exists p. split; [now left|easy].
    + destruct (A j ltac:(lia)) as (p' & I & Q). exists p'. split; [now right|easy].
Qed.

Lemma block_forall_ok : forall ps goal k t, Forall valid ps -> r_block_forall ps goal k = Some t ->
  valid t.
Proof.
  intros ps goal k t V H. unfold r_block_forall in H. rule H.
  match goal with K : Z.eqb _ _ = true |- _ => apply Z.eqb_eq in K; subst end.
  match goal with K : Nat.ltb _ _ = true |- _ => apply Nat.ltb_lt in K; rename K into Kp end.
  match goal with K : natural _ _ _ ?rows = true |- _ =>
    pose proof (natk_ok fe nothing (nothing_ok E w0 fe) [] rows w0 e0 steady_e0 K) as Hr;
    set (m := rows) in * end.
  match goal with K : columns _ ?q _ _ _ = true |- _ => destruct (columns_ok m q k _ 0 K) as [C _];
    set (body := q) in * end.
  cbn [Terms.holds all_of]. intros a Ia.
  assert (ev E w0 fe (Mul m (Num (Z.of_nat k) 1)) e0 = tv fe m w0 e0 * INR k) as S.
  { rewrite ev_tv. unfold Poly.tv. cbn [eval number]. now rewrite INR_IZR_INZ. }
  rewrite S in Ia. rewrite <- (count_nat _ Hr) in Ia. rewrite <- mult_INR in Ia.
  destruct (index_INR _ a Ia) as (j & Lj & ->). rewrite count_INR in Lj.
  set (r := count (tv fe m w0 e0)) in *.
  pose proof (Nat.div_mod j k ltac:(lia)) as DM.
  pose proof (Nat.mod_upper_bound j k ltac:(lia)) as MB.
  assert (j / k < r)%nat as DB by (apply Nat.div_lt_upper_bound; lia).
  destruct (C (j mod k)%nat ltac:(lia)) as (p' & I & Q).
  assert (holds0 fe p') as Hp.
  { apply in_map_iff in I. destruct I as (u & <- & I). now apply (unions_valid ps fe). }
  apply (equal_ok fe _ _ Q) in Hp. cbn [Terms.holds all_of] in Hp.
  assert (is_index (ev E w0 fe m e0) (INR (j / k))) as Ir by (apply INR_index; exact DB).
  specialize (Hp (INR (j / k)) Ir). apply holds_fsub in Hp.
  replace (scons (sc (INR j)) e0) with
    (fun i => vval E w0 fe (column_position k (j mod k) i) (scons (sc (INR (j / k))) e0));
    [exact Hp|].
  apply functional_extensionality. intros [|i]; [|reflexivity]. cbn [column_position vval].
  apply functional_extensionality. intros w. apply functional_extensionality. intros l.
  cbn [eval scons number]. unfold sc. rewrite <- !INR_IZR_INZ, <- mult_INR, <- plus_INR. f_equal. lia.
Qed.

Lemma instances_ok : forall q ps c, instances q c ps = true ->
  forall j, (c <= j < c + length ps)%nat ->
    exists p, In p ps /\ equal p (finst (VS (Num (Z.of_nat j) 1)) q) = true.
Proof.
  intros q. induction ps as [|p ps IH]; intros c H j Hj; cbn [instances length] in *; [lia|].
  apply andb_true_iff in H. destruct H as [H1 H2].
  destruct (Nat.eq_dec j c) as [-> | Nj]; [exists p; split; [now left|easy]|].
  destruct (IH (S c) H2 j ltac:(lia)) as (p' & I & Q). exists p'. split; [now right|easy].
Qed.
Lemma num_value : forall fe j e, vval E w0 fe (VS (Num (Z.of_nat j) 1)) e = sc (INR j).
Proof.
  intros fe j e. apply functional_extensionality. intros w. apply functional_extensionality.
  intros l. cbn [vval eval number]. unfold sc. now rewrite INR_IZR_INZ.
Qed.
Lemma finite_ok : forall ps goal t, Forall valid ps -> r_finite ps goal = Some t -> valid t.
Proof.
  intros ps goal t V H. unfold r_finite in H. rule H.
  match goal with K : small _ = Some ?k |- _ =>
    apply (small_ok E w0 fe _ k w0 e0) in K;
    rewrite (pf_ok fe nothing (nothing_ok E w0 fe) [] _ w0 e0 steady_e0) in K; rename K into Kc end.
  match goal with K : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in K; rename K into Ke end.
  cbn [Terms.holds all_of]. intros a Ia. destruct (index_INR _ a Ia) as (j & Lj & ->).
  assert (j < length ps)%nat as Lp by (rewrite <- Ke, <- Kc; exact Lj).
  match goal with K : instances ?q _ _ = true |- _ =>
    pose proof (instances_ok q _ 0 K j) as X end.
  rewrite map_length in X. destruct (X (conj (Nat.le_0_l j) Lp)) as (p' & I & Q).
  assert (holds0 fe p') as Hp.
  { apply in_map_iff in I. destruct I as (u & <- & I). now apply (unions_valid ps fe). }
  apply (equal_ok fe _ _ Q) in Hp. apply holds_finst in Hp. now rewrite num_value in Hp.
Qed.

(** *** Evaluation *)
Lemma evaluate_relation_ok : forall fe K, known_ok fe K -> forall p b,
  evaluate_relation K p = Some b -> (b = true <-> holds0 fe p).
Proof.
  intros fe K HK p b0 H.
  assert (forall a b, sign_ok (known_sign K (pf K [] (diff b a))) (tv fe b w0 e0 - tv fe a w0 e0)) as U.
  { intros a b. rewrite <- tv_diff, <- (pf_ok fe K HK [] (diff b a) w0 e0 steady_e0).
    now apply known_sign_ok. }
  assert (forall a b, sign_ok (known_sign K (fin (nf K) [] (pscale (-1) (pf K [] (diff b a)))))
    (tv fe a w0 e0 - tv fe b w0 e0)) as D.
  { intros a b. replace (tv fe a w0 e0 - tv fe b w0 e0) with
      (peval fe (fin (nf K) [] (pscale (-1) (pf K [] (diff b a)))) w0 e0).
    - now apply known_sign_ok.
    - rewrite pfin_ok, peval_scale, Q2R_m1, (pf_ok fe K HK [] _ w0 e0 steady_e0), tv_diff
        by (easy || apply steady_e0). ring. }
  destruct p; try discriminate; cbn [evaluate_relation] in H; cbn [Terms.holds]; rewrite !ev_tv.
  - pose proof (pf_ok fe K HK [] (diff b a) w0 e0 steady_e0) as P0. rewrite tv_diff in P0.
    specialize (U a b). specialize (D a b).
    destruct (pf K [] (diff b a)) as [|cm d].
    + injection H as <-. cbn [Poly.peval] in P0. split; [lra|easy].
    + destruct (is_nz _ || is_nz _) eqn:Z; [|discriminate]. injection H as <-.
      split; [discriminate|]. intros X. exfalso. apply orb_true_iff in Z.
      destruct Z as [Z|Z]; [apply (is_nz_ok _ _ Z U)|apply (is_nz_ok _ _ Z D)]; lra.
  - specialize (U a b). specialize (D a b).
    destruct (is_nn (known_sign K (pf K [] (diff b a)))) eqn:Z1.
    + injection H as <-. apply (is_nn_ok _ _ Z1) in U. split; [lra|easy].
    + destruct (is_pos _) eqn:Z2 in H; [|discriminate]. injection H as <-.
      apply (is_pos_ok _ _ Z2) in D. split; [discriminate|lra].
  - specialize (U a b). specialize (D a b).
    destruct (is_pos (known_sign K (pf K [] (diff b a)))) eqn:Z1.
    + injection H as <-. apply (is_pos_ok _ _ Z1) in U. split; [lra|easy].
    + destruct (is_nn _) eqn:Z2 in H; [|discriminate]. injection H as <-.
      apply (is_nn_ok _ _ Z2) in D. split; [discriminate|lra].
Qed.

Lemma upto_in : forall k j, In j (upto k) <-> (j < k)%nat.
Proof.
  induction k as [|k IH]; intros j; cbn [upto]; [split; [contradiction|lia]|].
  rewrite in_app_iff, IH. cbn [In]. lia.
Qed.

Lemma evaluate_ok : forall fe K, known_ok fe K -> forall f p b,
  evaluate f K p = Some b -> (b = true <-> holds0 fe p).
Proof.
  intros fe K HK. induction f as [|f IH]; intros p b H; [discriminate|].
  destruct p; try discriminate; cbn [evaluate] in H;
    try (now apply (evaluate_relation_ok fe K HK)).
  - destruct (intp K [] (pf K [] a)) eqn:I.
    + injection H as <-. split; [|easy]. intros _. now apply (intk_ok fe K HK).
    + destruct (literal (pf K [] a)) as [q|] eqn:L; [|discriminate]. injection H as <-.
      pose proof (literal_ok E w0 fe _ q w0 e0 L) as Lq.
      rewrite (pf_ok fe K HK [] _ w0 e0 steady_e0) in Lq. cbn [Terms.holds]. rewrite ev_tv, Lq.
      split; [apply q_int_ok|]. intros [k Ek]. now apply (q_int_conv q k).
  - injection H as <-. cbn [Terms.holds]. tauto.
  - injection H as <-. cbn [Terms.holds]. split; [discriminate|tauto].
  - destruct (evaluate f K p1) as [[]|] eqn:A, (evaluate f K p2) as [[]|] eqn:B; try discriminate;
      injection H as <-; cbn [Terms.holds];
      repeat match goal with X : evaluate f K _ = Some _ |- _ => apply IH in X end;
      intuition discriminate.
  - destruct (evaluate f K p1) as [[]|] eqn:A, (evaluate f K p2) as [[]|] eqn:B; try discriminate;
      injection H as <-; cbn [Terms.holds];
      repeat match goal with X : evaluate f K _ = Some _ |- _ => apply IH in X end;
      intuition discriminate.
  - destruct (evaluate f K p) as [[]|] eqn:A; try discriminate; injection H as <-;
      apply IH in A; cbn [Terms.holds negb]; intuition discriminate.
  - destruct (evaluate f K p1) as [[]|] eqn:A, (evaluate f K p2) as [[]|] eqn:B; try discriminate;
      injection H as <-; cbn [Terms.holds];
      repeat match goal with X : evaluate f K _ = Some _ |- _ => apply IH in X end;
      intuition discriminate.
  - destruct r as [[]| | |]; try discriminate.
    destruct (small (pf K [] n)) as [k|] eqn:S; [|discriminate].
    apply (small_ok E w0 fe _ k w0 e0) in S.
    rewrite (pf_ok fe K HK [] _ w0 e0 steady_e0) in S.
    set (ev_at := fun j => evaluate f K (finst (VS (Num (Z.of_nat j) 1)) p)) in H.
    assert (forall j b, ev_at j = Some b -> (b = true <-> holds fe p (scons (sc (INR j)) e0))) as At.
    { intros j b' X. apply IH in X. rewrite holds_finst, num_value in X. exact X. }
    cbn [Terms.holds all_of]. rewrite ev_tv.
    destruct (existsb _ (map ev_at (upto k))) eqn:X in H.
    + injection H as <-. split; [discriminate|]. intros A. exfalso.
      apply existsb_exists in X. destruct X as (o & I & Q). apply in_map_iff in I.
      destruct I as (j & Ej & Ij). apply upto_in in Ij. destruct o as [[]|]; try discriminate.
      apply At in Ej. destruct Ej as [_ Ej].
      assert (false = true) as X by (apply Ej, A, INR_index; now rewrite S). discriminate.
    + destruct (forallb _ (map ev_at (upto k))) eqn:Y in H; [|discriminate]. injection H as <-.
      split; [|easy]. intros _ a Ia. destruct (index_INR _ a Ia) as (j & Lj & ->).
      rewrite S in Lj. rewrite forallb_forall in Y. specialize (Y (ev_at j)).
      assert (In (ev_at j) (map ev_at (upto k))) as I by (apply in_map; now apply upto_in).
      specialize (Y I). destruct (ev_at j) as [[]|] eqn:Ej; try discriminate.
      apply At in Ej. now apply Ej.
Qed.
Lemma decided_ok : forall fe f K goal, known_ok fe K -> decided f K goal = true -> holds0 fe goal.
Proof.
  intros fe f K goal HK H. unfold decided in H.
  destruct (evaluate f K goal) as [b|] eqn:Ev; [|discriminate].
  pose proof (evaluate_ok fe K HK f goal b Ev) as X. now apply X.
Qed.
Lemma decide_ok : forall f fs goal t, Forall valid fs -> r_decide f fs goal = Some t -> valid t.
Proof.
  intros f fs goal t V H. unfold r_decide, check in H.
  destruct (decided f (facts (map snd fs)) goal) eqn:D; [|discriminate]. injection H as <-.
  intros fe G. cbn [fst snd] in *. apply (decided_ok fe f _ goal (facts_valid fs fe V G) D).
Qed.

(** *** Axioms *)
Lemma cos_one : forall x, cos x = 1 -> exists k, x = 2 * PI * IZR k.
Proof.
  intros x H. assert (sin x = 0) as S.
  { pose proof (sin2_cos2 x) as P0. unfold Rsqr in P0. rewrite H in P0.
    assert (sin x * sin x = 0) as Z by lra. apply Rmult_integral in Z. tauto. }
  apply sin_eq_0_0 in S. destruct S as [k ->].
  destruct (Z.Even_or_Odd k) as [[j ->]|[j ->]].
  - exists j. rewrite mult_IZR. ring.
  - exfalso. rewrite plus_IZR, mult_IZR in H.
    replace ((2 * IZR j + 1) * PI) with ((IZR j * 2 + 1) * PI) in H by ring.
    rewrite cos_odd in H. lra.
Qed.
Lemma ln_tangent : forall x, 0 < x -> ln x <= x + - (1).
Proof.
  intros x H. destruct (Req_dec (ln x) 0) as [Z|Z].
  - rewrite Z. assert (x = 1) as ->; [|lra]. rewrite <- (exp_ln x H), Z. apply exp_0.
  - pose proof (exp_ineq1 (ln x) Z) as X. rewrite exp_ln in X by easy. lra.
Qed.
Lemma sin_below : forall x, 0 <= x -> sin x <= x.
Proof.
  intros x [H | <-]; [left; now apply sin_lt_x|]. rewrite sin_0. lra.
Qed.

Lemma sin_above : forall x, 0 <= x -> x + - (x ^ 3 * / 6) <= sin x.
Proof.
  intros x H. destruct (Rle_lt_dec x PI) as [L|L].
  - pose proof (sin_bound x 0 H L) as [B _]. unfold sin_approx, sin_term in B.
    simpl in B. simpl. lra.
  - pose proof PI2_3_2 as P3. pose proof (SIN_bound x) as [B _].
    assert (3 < x) as X by lra.
    assert (x + - (x ^ 3 * / 6) <= -1); [|lra].
    simpl. assert (9 < x * x) as X2 by nra. nra.
Qed.

(** *** Determinants *)
Lemma det_product : forall fe n a b,
  tv fe (det_of n (TSum (lift (lift n)) (Mul (sub row_of a) (sub column_of b)))) w0 e0
  = tv fe (det_of n a) w0 e0 * tv fe (det_of n b) w0 e0.
Proof.
  intros fe n a b. unfold det_of, Poly.tv. cbn [eval]. rewrite <- Det.Det_product. f_equal.
  apply matrix_ext. intros i j. rewrite !eval_lift. f_equal. apply functional_extensionality.
  intros v. rewrite !eval_sub. f_equal; f_equal; apply functional_extensionality;
    intros [|[|k]]; reflexivity.
Qed.
Lemma det_transpose : forall fe n a,
  tv fe (det_of n (sub flipped a)) w0 e0 = tv fe (det_of n a) w0 e0.
Proof.
  intros fe n a. unfold det_of, Poly.tv. cbn [eval]. rewrite <- Det.Det_transpose. f_equal.
  apply matrix_ext. intros i j. rewrite eval_sub. f_equal. apply functional_extensionality.
  intros [|[|k]]; reflexivity.
Qed.

Lemma axiom_ok : forall a ts t, r_axiom a ts = Some t -> valid t.
Proof.
  intros a ts t H. unfold r_axiom in H. destruct (axiom a ts) as [p|] eqn:A; [|discriminate].
  injection H as <-. intros fe _. cbn [fst snd].
  destruct a; destruct ts as [|x [|y [|z [|u ts]]]]; try discriminate A; injection A as <-;
    cbn [Terms.holds some_of]; rewrite ?ev_tv; unfold Poly.tv; cbn [eval apply_fn];
    change (eval E w0 fe zero w0 e0 []) with 0 in *; change (eval E w0 fe one_ w0 e0 []) with 1 in *;
    set (a := eval E w0 fe x w0 e0 []) in *; try set (b := eval E w0 fe y w0 e0 []) in *.
  - intros N0. now apply Rinv_l.
  - apply sin_plus.
  - rewrite cos_plus. ring.
  - pose proof (sin2_cos2 a) as S. unfold Rsqr in S. clearbody a. cbn [pow]. lra.
  - intros C. apply cos_one in C. destruct C as [k Ek]. exists (IZR k).
    split; [apply int_IZR|]. rewrite ev_tv. unfold Poly.tv. rewrite eval_lift. exact Ek.
  - intros L. now apply Rmax_right.
  - intros L. now apply Rmax_left.
  - intros L. now apply Rmin_left.
  - intros L. now apply Rmin_right.
  - intros L. apply Rabs_pos_eq. exact L.
  - intros L. now apply Rabs_left1.
  - intros [A B]. now apply ln_mult.
  - intros L. now apply ln_tangent.
  - intros L. now apply exp_increasing.
  - apply floor_bounds.
  - apply floor_bounds.
  - intros L. now apply sin_below.
  - intros L. exact (sin_above a L).
  - intros (M & N & Q). now apply (Niven.pi_irrational a b).
  - exact (det_product fe x y z).
  - exact (det_transpose fe x y).
  - exact (Det.Det_identity (tv fe x w0 e0)).
Qed.
End Sound.
