(** Differentiability in the entries of a tensor with any number of indices: sums, products, the
    chain rule.  A function is given on the increments [h], which vanish outside of the ranges. *)
Require Import ZArith Lia Lra FunctionalExtensionality Classical_Prop.
From Derive Require Import Prelude Sums.
Open Scope R_scope.

Definition tensor := list R -> R.
Fixpoint total (ns : list R) (g : tensor) : R :=
  match ns with [] => g [] | n :: r => Sum n (fun i => total r (fun l => g (i :: l))) end.
Fixpoint inside (ns l : list R) : Prop :=
  match ns, l with
  | [], [] => True
  | n :: r, i :: t => is_index n i /\ inside r t
  | _, _ => False
  end.

Lemma inside_dec : forall ns l, {inside ns l} + {~ inside ns l}.
Proof.
  induction ns as [|n ns IH]; intros [|i l]; simpl; try (right; tauto); [now left|].
  destruct (index_dec n i); [|right; tauto]. destruct (IH l); [left|right]; tauto.
Qed.
Lemma inside_length : forall ns l, inside ns l -> length l = length ns.
Proof. induction ns as [|n ns IH]; intros [|i l] H; simpl in *; try easy. f_equal. now apply IH. Qed.

Lemma total_ext : forall ns f g, (forall l, inside ns l -> f l = g l) -> total ns f = total ns g.
Proof.
  induction ns as [|n ns IH]; intros f g H; simpl; [now apply H|].
  apply Sum_ext. intros i Hi. apply IH. intros l Hl. now apply H.
Qed.
Lemma total_plus : forall ns f g, total ns (fun l => f l + g l) = total ns f + total ns g.
Proof.
  induction ns as [|n ns IH]; intros f g; simpl; [easy|]. rewrite <- Sum_plus.
  apply Sum_ext. intros i _. apply IH.
Qed.
Lemma total_scal : forall ns c f, total ns (fun l => c * f l) = c * total ns f.
Proof.
  induction ns as [|n ns IH]; intros c f; simpl; [easy|]. rewrite <- Sum_scal.
  apply Sum_ext. intros i _. apply IH.
Qed.
Lemma total_le : forall ns f g, (forall l, inside ns l -> f l <= g l) -> total ns f <= total ns g.
Proof.
  induction ns as [|n ns IH]; intros f g H; simpl; [now apply H|].
  apply Sum_le. intros i Hi. apply IH. intros l Hl. now apply H.
Qed.
Lemma total_0 : forall ns, total ns (fun _ => 0) = 0.
Proof.
  induction ns as [|n ns IH]; simpl; [easy|]. transitivity (Sum n (fun _ => 0)); [|apply Sum_0].
  apply Sum_ext. intros. apply IH.
Qed.
Lemma total_nonneg : forall ns f, (forall l, inside ns l -> 0 <= f l) -> 0 <= total ns f.
Proof. intros ns f H. rewrite <- (total_0 ns). now apply total_le. Qed.

Lemma Sum_one : forall n f k, (forall i, is_index n i -> 0 <= f i) -> is_index n k -> f k <= Sum n f.
Proof.
  intros n f k H K. rewrite <- (Sum_delta n k f K). apply Sum_le. intros i Hi. specialize (H i Hi).
  destruct (delta_01 i k) as [-> | ->]; lra.
Qed.
Lemma total_one : forall ns f l, (forall k, inside ns k -> 0 <= f k) -> inside ns l ->
  f l <= total ns f.
Proof.
  induction ns as [|n ns IH]; intros f [|i l] H L; simpl in *; try easy; [lra|]. destruct L as [Li Ll].
  apply Rle_trans with (total ns (fun l => f (i :: l))).
  - apply (IH (fun l => f (i :: l))); [|easy]. intros k Hk. now apply H.
  - apply (Sum_one n (fun i => total ns (fun l => f (i :: l)))); [|easy].
    intros j Hj. apply total_nonneg. intros k Hk. now apply H.
Qed.
Lemma total_abs : forall ns f, Rabs (total ns f) <= total ns (fun l => Rabs (f l)).
Proof.
  intros ns f. apply Rabs_le. split.
  - rewrite <- (Rmult_1_l (total ns (fun l => Rabs (f l)))), Ropp_mult_distr_l, <- total_scal.
    apply total_le. intros l _. pose proof (Rle_abs (- f l)). rewrite Rabs_Ropp in H. lra.
  - apply total_le. intros l _. apply Rle_abs.
Qed.

(** 1 at the place [s], 0 elsewhere *)
Fixpoint deltas (l s : list R) : R :=
  match l, s with i :: l', j :: s' => delta i j * deltas l' s' | _, _ => 1 end.
Lemma total_deltas : forall ns s h, length s = length ns -> (~ inside ns s -> h s = 0) ->
  total ns (fun l => deltas l s * h l) = h s.
Proof.
  induction ns as [|n ns IH]; intros [|j s] h L H; simpl in *; try discriminate; [ring|].
  injection L as L.
  transitivity (Sum n (fun i => delta i j * total ns (fun l => deltas l s * h (i :: l)))).
  { apply Sum_ext. intros i _. rewrite <- total_scal. apply total_ext. intros l _. ring. }
  destruct (index_dec n j) as [J|J].
  - rewrite Sum_delta by easy. apply (IH s (fun l => h (j :: l)) L). tauto.
  - rewrite H by tauto. transitivity (Sum n (fun _ => 0)); [|apply Sum_0]. apply Sum_ext.
    intros i Hi. rewrite delta_neq; [ring|]. now intros ->.
Qed.

Section Gradient.
Context (ns : list R).

Definition extent (h : tensor) : R := total ns (fun l => Rabs (h l)).
Definition linear (v h : tensor) : R := total ns (fun l => v l * h l).
Definition limited (h : tensor) : Prop := forall l, ~ inside ns l -> h l = 0.
Definition origin : tensor := fun _ => 0.
Definition gradient (F : tensor -> R) (v : tensor) : Prop :=
  forall eps, 0 < eps -> exists rad, 0 < rad /\ forall h, limited h -> extent h <= rad ->
    Rabs (F h - F origin - linear v h) <= eps * extent h.

Lemma extent_nonneg : forall h, 0 <= extent h.
Proof. intros h. apply total_nonneg. intros l _. apply Rabs_pos. Qed.
Lemma origin_limited : limited origin.
Proof. now intros l _. Qed.
Lemma linear_le : forall v h, Rabs (linear v h) <= extent v * extent h.
Proof.
  intros v h. unfold linear. apply Rle_trans with (1 := total_abs _ _).
  unfold extent at 2. rewrite <- total_scal. apply total_le. intros l Hl. rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos|].
  apply (total_one ns (fun l => Rabs (v l))); [intros; apply Rabs_pos|easy].
Qed.
Lemma linear_plus : forall v w h, linear (fun l => v l + w l) h = linear v h + linear w h.
Proof.
  intros. unfold linear. rewrite <- total_plus. apply total_ext. intros. ring.
Qed.
Lemma linear_scal : forall c v h, linear (fun l => c * v l) h = c * linear v h.
Proof. intros. unfold linear. rewrite <- total_scal. apply total_ext. intros. ring. Qed.

Lemma gradient_ext : forall F G v w, (forall h, limited h -> F h = G h) ->
  (forall l, inside ns l -> v l = w l) -> gradient F v -> gradient G w.
Proof.
  intros F G v w HF Hv D eps He. destruct (D eps He) as (rad & Hr & K). exists rad. split; [easy|].
  intros h Lh Sh. rewrite <- HF, <- (HF origin) by (easy || apply origin_limited).
  replace (linear w h) with (linear v h); [now apply K|].
  apply total_ext. intros l Hl. now rewrite Hv.
Qed.

Lemma gradient_ext_iff : forall F G v w, (forall h, F h = G h) ->
  (forall l, inside ns l -> v l = w l) -> gradient F v <-> gradient G w.
Proof.
  intros F G v w HF Hv. split; apply gradient_ext; intros; auto; symmetry; auto.
Qed.

(** Where no entry exists, nothing changes. *)
Lemma gradient_empty : forall F v, (forall l, ~ inside ns l) -> gradient F v.
Proof.
  intros F v N eps He. exists 1. split; [lra|]. intros h Lh _.
  assert (h = origin) as ->.
  { apply functional_extensionality. intros l. unfold origin. now apply Lh. }
  assert (linear v origin = 0) as ->.
  { unfold linear. rewrite <- (total_0 ns). apply total_ext. intros. unfold origin. ring. }
  unfold Rminus. rewrite Rplus_opp_r, Ropp_0, Rplus_0_l, Rabs_R0.
  apply Rmult_le_pos; [lra|apply extent_nonneg].
Qed.

Lemma gradient_const : forall c, gradient (fun _ => c) (fun _ => 0).
Proof.
  intros c eps He. exists 1. split; [lra|]. intros h _ _.
  replace (linear (fun _ => 0) h) with 0.
  - unfold Rminus. rewrite Rplus_opp_r, Ropp_0, Rplus_0_l, Rabs_R0.
    apply Rmult_le_pos; [lra|apply extent_nonneg].
  - unfold linear. symmetry. transitivity (total ns (fun _ => 0)); [|apply total_0]. apply total_ext.
    intros. ring.
Qed.

Lemma gradient_entry : forall c s, length s = length ns ->
  gradient (fun h => c + h s) (fun l => deltas l s).
Proof.
  intros c s L eps He. exists 1. split; [lra|]. intros h Lh _. unfold linear.
  rewrite total_deltas by (easy || apply Lh). unfold origin.
  replace (c + h s - (c + 0) - h s) with 0 by ring. rewrite Rabs_R0.
  apply Rmult_le_pos; [lra|apply extent_nonneg].
Qed.

Lemma gradient_near : forall F v, gradient F v -> exists C rad, 0 <= C /\ 0 < rad /\
  forall h, limited h -> extent h <= rad -> Rabs (F h - F origin) <= C * extent h.
Proof.
  intros F v D. destruct (D 1 Rlt_0_1) as (rad & Hr & K). exists (1 + extent v), rad.
  pose proof (extent_nonneg v). split; [lra|]. split; [easy|]. intros h Lh Sh.
  specialize (K h Lh Sh). pose proof (linear_le v h).
  replace (F h - F origin) with ((F h - F origin - linear v h) + linear v h) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). lra.
Qed.

Lemma gradient_plus : forall F G v w, gradient F v -> gradient G w ->
  gradient (fun h => F h + G h) (fun l => v l + w l).
Proof.
  intros F G v w DF DG eps He.
  destruct (DF (eps / 2)) as (r1 & H1 & K1); [lra|]. destruct (DG (eps / 2)) as (r2 & H2 & K2); [lra|].
  exists (Rmin r1 r2). split; [now apply Rmin_pos|]. intros h Lh Sh.
  specialize (K1 h Lh (Rle_trans _ _ _ Sh (Rmin_l _ _))).
  specialize (K2 h Lh (Rle_trans _ _ _ Sh (Rmin_r _ _))). rewrite linear_plus.
  match goal with |- Rabs ?x <= _ =>
    replace x with ((F h - F origin - linear v h) + (G h - G origin - linear w h)) by ring end.
  apply Rle_trans with (1 := Rabs_triang _ _). lra.
Qed.

(** What an error of [r * extent h] needs to stay below a share of eps. *)
Lemma share : forall a eps s, 0 <= a -> 0 < eps -> 0 <= s -> a * (eps / (a + 1) * s) <= eps * s.
Proof.
  intros a eps s Ha He Hs. replace (a * (eps / (a + 1) * s)) with (a / (a + 1) * (eps * s)) by (field; lra).
  rewrite <- (Rmult_1_l (eps * s)) at 2. apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|].
  apply Rmult_le_reg_r with (a + 1); [lra|]. replace (a / (a + 1) * (a + 1)) with a by (field; lra). lra.
Qed.
Lemma share_pos : forall a eps, 0 <= a -> 0 < eps -> 0 < eps / (a + 1).
Proof. intros. apply Rdiv_lt_0_compat; lra. Qed.

Lemma gradient_compose : forall F v g d, gradient F v -> derivable_pt_lim g (F origin) d ->
  gradient (fun h => g (F h)) (fun l => d * v l).
Proof.
  intros F v g d DF Dg eps He.
  destruct (gradient_near F v DF) as (C & r0 & HC & H0 & K0).
  destruct (Dg (eps / 2 / (C + 1))) as ((dl & Hd) & Kg); [apply share_pos; lra|]. simpl in Kg.
  pose proof (Rabs_pos d) as Ad.
  destruct (DF (eps / 2 / (Rabs d + 1))) as (r1 & H1 & K1); [apply share_pos; lra|].
  exists (Rmin (Rmin r0 r1) (dl / 2 / (C + 1))). split.
  { repeat apply Rmin_pos; try easy. apply share_pos; lra. }
  intros h Lh Sh. pose proof (extent_nonneg h) as Eh.
  pose proof (Rle_trans _ _ _ Sh (Rmin_l _ _)) as Sh1. pose proof (Rle_trans _ _ _ Sh (Rmin_r _ _)) as Sh2.
  specialize (K0 h Lh (Rle_trans _ _ _ Sh1 (Rmin_l _ _))).
  specialize (K1 h Lh (Rle_trans _ _ _ Sh1 (Rmin_r _ _))).
  set (y := F h - F origin) in *. rewrite linear_scal.
  assert (Rabs y < dl) as Hy.
  { apply Rle_lt_trans with (1 := K0). apply Rle_lt_trans with (C * (dl / 2 / (C + 1))).
    - now apply Rmult_le_compat_l.
    - replace (C * (dl / 2 / (C + 1))) with (C * (dl / 2 / (C + 1) * 1)) by ring.
      apply Rle_lt_trans with (dl / 2 * 1); [apply share; lra|lra]. }
  assert (Rabs (g (F h) - g (F origin) - d * y) <= eps / 2 / (C + 1) * Rabs y) as Kg'.
  { destruct (Req_dec y 0) as [Y|Y].
    - assert (F h = F origin) as -> by (unfold y in Y; lra). rewrite Y, Rmult_0_r, Rabs_R0, Rmult_0_r.
      unfold Rminus. rewrite Rplus_opp_r, Ropp_0, Rplus_0_l, Rabs_R0. lra.
    - specialize (Kg y Y Hy). replace (F origin + y) with (F h) in Kg by (unfold y; ring).
      replace (g (F h) - g (F origin) - d * y) with (((g (F h) - g (F origin)) / y - d) * y)
        by (field; easy).
      rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|lra]. }
  replace (g (F h) - g (F origin) - d * linear v h)
    with ((g (F h) - g (F origin) - d * y) + d * (y - linear v h)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). rewrite (Rabs_mult d).
  assert (eps / 2 / (C + 1) * Rabs y <= eps / 2 * extent h).
  { apply Rle_trans with (eps / 2 / (C + 1) * (C * extent h)).
    - apply Rmult_le_compat_l; [left; apply share_pos; lra|easy].
    - replace (eps / 2 / (C + 1) * (C * extent h)) with (C * (eps / 2 / (C + 1) * extent h)) by ring.
      apply share; lra. }
  assert (Rabs d * Rabs (y - linear v h) <= eps / 2 * extent h).
  { apply Rle_trans with (Rabs d * (eps / 2 / (Rabs d + 1) * extent h)).
    - now apply Rmult_le_compat_l.
    - apply share; lra. }
  lra.
Qed.

Lemma gradient_scal : forall F v c, gradient F v -> gradient (fun h => c * F h) (fun l => c * v l).
Proof.
  intros F v c D. apply (gradient_compose F v (fun x => c * x) c D).
  pose proof (derivable_pt_lim_scal id c (F origin) 1 (derivable_pt_lim_id _)) as H.
  rewrite Rmult_1_r in H. exact H.
Qed.

(** By u v = ((u + v)^2 - (u - v)^2) / 4 *)
Lemma gradient_square : forall F v, gradient F v ->
  gradient (fun h => (F h)²) (fun l => 2 * F origin * v l).
Proof.
  intros F v D. apply (gradient_compose F v Rsqr (2 * F origin) D). apply derivable_pt_lim_Rsqr.
Qed.
Lemma gradient_mult : forall F G v w, gradient F v -> gradient G w ->
  gradient (fun h => F h * G h) (fun l => v l * G origin + F origin * w l).
Proof.
  intros F G v w DF DG.
  pose proof (gradient_plus _ _ _ _ DF DG) as P.
  pose proof (gradient_plus _ _ _ _ DF (gradient_scal _ _ (-1) DG)) as M.
  pose proof (gradient_plus _ _ _ _ (gradient_scal _ _ (/ 4) (gradient_square _ _ P))
    (gradient_scal _ _ (- / 4) (gradient_square _ _ M))) as D.
  apply (fun H1 H2 => gradient_ext _ _ _ _ H1 H2 D); intros; unfold Rsqr; field.
Qed.

Lemma gradient_Sum : forall n F v, (forall i, is_index n i -> gradient (F i) (v i)) ->
  gradient (fun h => Sum n (fun i => F i h)) (fun l => Sum n (fun i => v i l)).
Proof.
  intros n F v H. unfold Sum.
  assert (forall k, (k <= count n)%nat ->
    gradient (fun h => sum_to k (fun i => F i h)) (fun l => sum_to k (fun i => v i l))); [|auto].
  induction k as [|k IH]; intros L; simpl; [apply gradient_const|].
  apply (gradient_plus _ _ _ _ (IH ltac:(lia))). apply H. now apply INR_index.
Qed.

Lemma near_Sum : forall n F v, (forall i, is_index n i -> gradient (F i) (v i)) ->
  exists C rad, 0 <= C /\ 0 < rad /\ forall h, limited h -> extent h <= rad ->
    Sum n (fun i => Rabs (F i h - F i origin)) <= C * extent h.
Proof.
  intros n F v H. unfold Sum.
  assert (forall k, (k <= count n)%nat -> exists C rad, 0 <= C /\ 0 < rad /\
    forall h, limited h -> extent h <= rad ->
      sum_to k (fun i => Rabs (F i h - F i origin)) <= C * extent h); [|auto].
  induction k as [|k IH]; intros L; simpl.
  - exists 0, 1. split; [lra|]. split; [lra|]. intros. lra.
  - destruct (IH ltac:(lia)) as (C & rad & HC & Hr & K).
    destruct (gradient_near _ _ (H (INR k) (INR_index n k L))) as (C' & rad' & HC' & Hr' & K').
    exists (C + C'), (Rmin rad rad'). split; [lra|]. split; [now apply Rmin_pos|].
    intros h Lh Sh. specialize (K h Lh (Rle_trans _ _ _ Sh (Rmin_l _ _))).
    specialize (K' h Lh (Rle_trans _ _ _ Sh (Rmin_r _ _))). lra.
Qed.

(** The chain rule for a function of a vector, which sees no more of it than its n entries *)
Lemma gradient_chain : forall n G q w F v, gradient1 n G q w ->
  (forall X Y, (forall i, is_index n i -> X i = Y i) -> G X = G Y) ->
  (forall i, is_index n i -> gradient (F i) (v i)) ->
  (forall i, is_index n i -> F i origin = q i) ->
  gradient (fun h => G (fun i => F i h)) (fun l => Sum n (fun i => w i * v i l)).
Proof.
  intros n G q w F v DG Gv DF Fq eps He.
  destruct (near_Sum n F v DF) as (C & r0 & HC & H0 & K0).
  destruct (DG (eps / 2 / (C + 1))) as (r1 & H1 & K1); [apply share_pos; lra|].
  assert (gradient (fun h => Sum n (fun i => w i * F i h)) (fun l => Sum n (fun i => w i * v i l))) as DW.
  { apply (gradient_Sum n (fun i h => w i * F i h) (fun i l => w i * v i l)). intros i Hi.
    now apply gradient_scal, DF. }
  destruct (DW (eps / 2)) as (r2 & H2 & K2); [lra|].
  exists (Rmin (Rmin r0 r2) (r1 / (C + 1))). split.
  { repeat apply Rmin_pos; try easy. apply share_pos; lra. }
  intros h Lh Sh. pose proof (extent_nonneg h) as Eh.
  pose proof (Rle_trans _ _ _ Sh (Rmin_l _ _)) as Sh1. pose proof (Rle_trans _ _ _ Sh (Rmin_r _ _)) as Sh2.
  specialize (K0 h Lh (Rle_trans _ _ _ Sh1 (Rmin_l _ _))).
  specialize (K2 h Lh (Rle_trans _ _ _ Sh1 (Rmin_r _ _))).
  set (y := fun i => if index_dec n i then F i h - F i origin else 0).
  assert (Sum n (fun i => Rabs (y i)) = Sum n (fun i => Rabs (F i h - F i origin))) as Ey.
  { apply Sum_ext. intros i Hi. unfold y. now destruct index_dec. }
  assert (Sum n (fun i => Rabs (y i)) <= r1) as Sy.
  { rewrite Ey. apply Rle_trans with (1 := K0). apply Rle_trans with (C * (r1 / (C + 1))).
    - now apply Rmult_le_compat_l.
    - replace (C * (r1 / (C + 1))) with (C * (r1 / (C + 1) * 1)) by ring.
      apply Rle_trans with (r1 * 1); [apply share; lra|lra]. }
  specialize (K1 y (fun i Hi => ltac:(unfold y; now destruct index_dec)) Sy).
  assert (G (fun i => F i h) = G (fun i => q i + y i)) as ->.
  { apply Gv. intros i Hi. rewrite <- Fq by easy. unfold y. destruct index_dec; [ring|easy]. }
  assert (G (fun i => F i origin) = G q) as -> by (now apply Gv).
  assert (Sum n (fun i => w i * F i h) - Sum n (fun i => w i * F i origin)
    = Sum n (fun i => w i * y i)) as Ew.
  { replace (Sum n (fun i => w i * F i h))
      with (Sum n (fun i => w i * y i) + Sum n (fun i => w i * F i origin)); [ring|].
    rewrite <- Sum_plus. apply Sum_ext. intros i Hi. unfold y. destruct index_dec; [ring|easy]. }
  rewrite Ew in K2.
  match goal with |- Rabs (?a - ?b - ?l) <= _ =>
    replace (a - b - l) with ((a - b - Sum n (fun i => w i * y i)) + (Sum n (fun i => w i * y i) - l))
      by ring end.
  apply Rle_trans with (1 := Rabs_triang _ _).
  assert (eps / 2 / (C + 1) * Sum n (fun i => Rabs (y i)) <= eps / 2 * extent h); [|lra].
  rewrite Ey. apply Rle_trans with (eps / 2 / (C + 1) * (C * extent h)).
  - apply Rmult_le_compat_l; [left; apply share_pos; lra|easy].
  - replace (eps / 2 / (C + 1) * (C * extent h)) with (C * (eps / 2 / (C + 1) * extent h)) by ring.
    apply share; lra.
Qed.

(** A function has one gradient. *)
Lemma deltas_eq : forall s, deltas s s = 1.
Proof. induction s as [|i s IH]; simpl; [easy|]. rewrite IH, delta_eq. ring. Qed.
Lemma deltas_neq : forall l s, length l = length s -> l <> s -> deltas l s = 0.
Proof.
  induction l as [|i l IH]; intros [|j s] L N; simpl in *; try discriminate; [easy|].
  destruct (Req_EM_T i j) as [-> | D]; [|rewrite delta_neq by easy; ring].
  rewrite (IH s); [ring|now injection L|]. now intros ->.
Qed.
Lemma gradient_unique : forall F v w, gradient F v -> gradient F w ->
  forall s, inside ns s -> v s = w s.
Proof.
  intros F v w DF DG s Is.
  assert (forall eps, 0 < eps -> Rabs (v s - w s) <= 2 * eps) as K.
  { intros eps He. destruct (DF eps He) as (r1 & H1 & K1). destruct (DG eps He) as (r2 & H2 & K2).
    set (t := Rmin r1 r2). assert (0 < t) as Ht by (now apply Rmin_pos).
    set (h := fun l => deltas l s * (if inside_dec ns l then t else 0)).
    assert (limited h) as Lh by (intros l Hl; unfold h; destruct inside_dec; [easy|ring]).
    assert (forall f, total ns (fun l => f l * h l) = f s * t) as Th.
    { intros f. transitivity (total ns (fun l => deltas l s * (f l * (if inside_dec ns l then t else 0)))).
      - apply total_ext. intros l _. unfold h. ring.
      - rewrite (total_deltas ns s (fun l => f l * (if inside_dec ns l then t else 0)));
          [|now apply inside_length|easy]. now destruct inside_dec. }
    assert (extent h = t) as Eh.
    { unfold extent. transitivity (total ns (fun l => 1 * h l)); [|rewrite Th; ring].
      apply total_ext. intros l Hl. rewrite Rmult_1_l. apply Rabs_pos_eq. unfold h.
      destruct inside_dec; [|lra]. destruct (list_eq_dec Req_EM_T l s) as [-> | Nl].
      - rewrite deltas_eq. lra.
      - rewrite deltas_neq; [lra| |easy].
        rewrite (inside_length ns l Hl). symmetry. now apply inside_length. }
    assert (extent h <= r1) as S1 by (rewrite Eh; apply Rmin_l).
    assert (extent h <= r2) as S2 by (rewrite Eh; apply Rmin_r).
    specialize (K1 h Lh S1). specialize (K2 h Lh S2).
    unfold linear in *. rewrite Th, Eh in *.
    apply Rmult_le_reg_r with t; [easy|]. rewrite <- (Rabs_pos_eq t) at 1 by lra. rewrite <- Rabs_mult.
    replace ((v s - w s) * t) with ((F h - F origin - w s * t) + - (F h - F origin - v s * t)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
  destruct (Req_dec (v s) (w s)) as [|D]; [easy|]. exfalso.
  assert (0 < Rabs (v s - w s)) as P by (apply Rabs_pos_lt; lra).
  specialize (K (Rabs (v s - w s) / 4)). lra.
Qed.
End Gradient.

(** ** Tensors with one to four indices *)
Definition at1 (T : R -> R) : tensor := fun l => match l with [i] => T i | _ => 0 end.
Definition at2 (T : R -> R -> R) : tensor := fun l => match l with [i; j] => T i j | _ => 0 end.
Definition at3 (T : R -> R -> R -> R) : tensor :=
  fun l => match l with [i; j; k] => T i j k | _ => 0 end.
Definition at4 (T : R -> R -> R -> R -> R) : tensor :=
  fun l => match l with [i; j; k; m] => T i j k m | _ => 0 end.

Lemma gradient1_iff : forall n F p v, gradient1 n F p v <->
  gradient [n] (fun h => F (fun i => p i + h [i])) (at1 v).
Proof.
  intros n F p v. assert (F (fun i => p i + 0) = F p) as P
    by (f_equal; apply functional_extensionality; intros; ring).
  split; intros D eps He; destruct (D eps He) as (rad & Hr & K); exists rad; (split; [easy|]).
  - intros h Lh Sh. unfold origin. rewrite P. apply (K (fun i => h [i])); [|exact Sh].
    intros i Hi. apply Lh. simpl. tauto.
  - intros h Lh Sh. specialize (K (at1 h)). unfold origin in K. rewrite P in K. apply K; [|exact Sh].
    intros [|i [|? l]] N; simpl in *; try easy. apply Lh. tauto.
Qed.
Lemma gradient2_iff : forall n m F p v, gradient2 n m F p v <->
  gradient [n; m] (fun h => F (fun i j => p i j + h [i; j])) (at2 v).
Proof.
  intros n m F p v. assert (F (fun i j => p i j + 0) = F p) as P
    by (f_equal; do 2 (apply functional_extensionality; intros); ring).
  split; intros D eps He; destruct (D eps He) as (rad & Hr & K); exists rad; (split; [easy|]).
  - intros h Lh Sh. unfold origin. rewrite P. apply (K (fun i j => h [i; j])); [|exact Sh].
    intros i j Hi. apply Lh. simpl. tauto.
  - intros h Lh Sh. specialize (K (at2 h)). unfold origin in K. rewrite P in K. apply K; [|exact Sh].
    intros [|i [|j [|? l]]] N; simpl in *; try easy. apply Lh. tauto.
Qed.
Lemma gradient3_iff : forall n m k F p v, gradient3 n m k F p v <->
  gradient [n; m; k] (fun h => F (fun i j l => p i j l + h [i; j; l])) (at3 v).
Proof.
  intros n m k F p v. assert (F (fun i j l => p i j l + 0) = F p) as P
    by (f_equal; do 3 (apply functional_extensionality; intros); ring).
  split; intros D eps He; destruct (D eps He) as (rad & Hr & K); exists rad; (split; [easy|]).
  - intros h Lh Sh. unfold origin. rewrite P. apply (K (fun i j l => h [i; j; l])); [|exact Sh].
    intros i j l Hi. apply Lh. simpl. tauto.
  - intros h Lh Sh. specialize (K (at3 h)). unfold origin in K. rewrite P in K. apply K; [|exact Sh].
    intros [|i [|j [|l [|? t]]]] N; simpl in *; try easy. apply Lh. tauto.
Qed.
Lemma gradient4_iff : forall n m k o F p v, gradient4 n m k o F p v <->
  gradient [n; m; k; o] (fun h => F (fun a b c d => p a b c d + h [a; b; c; d])) (at4 v).
Proof.
  intros n m k o F p v. assert (F (fun a b c d => p a b c d + 0) = F p) as P
    by (f_equal; do 4 (apply functional_extensionality; intros); ring).
  split; intros D eps He; destruct (D eps He) as (rad & Hr & K); exists rad; (split; [easy|]).
  - intros h Lh Sh. unfold origin. rewrite P. apply (K (fun a b c d => h [a; b; c; d])); [|exact Sh].
    intros a b c d Hi. apply Lh. simpl. tauto.
  - intros h Lh Sh. specialize (K (at4 h)). unfold origin in K. rewrite P in K. apply K; [|exact Sh].
    intros [|a [|b [|c [|d [|? t]]]]] N; simpl in *; try easy. apply Lh. tauto.
Qed.

(** ** Derivative symbols *)
Lemma vector_moved : forall n x y h, vector n x = vector n y ->
  vector n (fun i => x i + h i) = vector n (fun i => y i + h i).
Proof.
  intros n x y h H. apply vector_ext. intros i Hi. f_equal.
  now rewrite <- (vector_in n x i Hi), H, vector_in.
Qed.
(** Every function of numbers [a] and a vector has one: what a statement says of its derivative
    symbol, that it is the gradient wherever there is one, can be had. *)
Theorem derivative_exists : forall (A : Type) (f : A -> R -> (R -> R) -> R),
  exists f' : A -> R -> R -> (R -> R) -> R, forall a n x v,
    gradient1 n (fun X => f a n (vector n X)) x v ->
    forall c, is_index n c -> v c = f' a c n (vector n x).
Proof.
  intros A f.
  set (values := fun a c n (y : R -> R) t => exists x v,
    y = vector n x /\ t = v c /\ gradient1 n (fun X => f a n (vector n X)) x v).
  exists (fun a c n y =>
    match ClassicalDedekindReals.sig_not_dec
      (bound (values a c n y) /\ exists t, values a c n y t) with
    | left H => let (B, N) := NNPP _ H in proj1_sig (completeness _ B N)
    | right _ => 0
    end).
  intros a n x v G c Hc.
  assert (forall t, values a c n (vector n x) t -> t = v c) as U.
  { intros t (x' & v' & Ex & -> & G').
    assert (gradient1 n (fun X => f a n (vector n X)) x v') as G1.
    { intros eps He. destruct (G' eps He) as (rad & Hr & H). exists rad. split; [easy|].
      intros h H0 Hh. rewrite Ex, (vector_moved n x x' h Ex). now apply H. }
    apply gradient1_iff in G, G1. exact (gradient_unique [n] _ _ _ G1 G [c] (conj Hc I)). }
  assert (values a c n (vector n x) (v c)) as V by now exists x, v.
  destruct ClassicalDedekindReals.sig_not_dec as [H|H].
  - destruct (NNPP _ H) as [B N]. destruct (completeness _ B N) as [m [Up Least]]. simpl.
    apply Rle_antisym; [now apply Up|]. apply Least. intros t Ht. right. now apply U.
  - destruct H. split; [|now exists (v c)]. exists (v c). intros t Ht. right. now apply U.
Qed.
