(** The derivative table and the rules about gradients give what holds. *)
Require Import ZArith QArith Qreals Lia Lra FunctionalExtensionality Bool Classical.
From Derive Require Import Prelude Sums Terms Poly Signs Normal NormalOk Rules RulesOk Frechet
  Derivative.
Close Scope Q_scope.
Open Scope R_scope.

Section Sound.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega).
Hypothesis HE : expectation E.
Notation env := (@env Omega).
Notation val := (@val Omega).
Notation tv := (Poly.tv E w0).
Notation okc := (Poly.okc E w0).
Notation holds := (Terms.holds E w0).
Notation holds0 fe p := (Terms.holds E w0 fe p e0).
Notation eval := (Terms.eval E w0).
Notation valid := (RulesOk.valid E w0).
Implicit Types fe : positive -> val.

(** *** Environments *)
Fixpoint over (us : list R) (e : env) : env :=
  match us with [] => e | u :: r => scons (sc u) (over r e) end.
Lemma over_app : forall us vs e, over (us ++ vs) e = over us (over vs e).
Proof. induction us as [|u us IH]; intros vs e; simpl; [easy|]. now rewrite IH. Qed.
Lemma over_skip : forall us e k, over us e (length us + k)%nat = e k.
Proof. induction us as [|u us IH]; intros e k; simpl; [easy|]. apply IH. Qed.
Lemma over_steady : forall us e, steady e -> steady (over us e).
Proof. induction us as [|u us IH]; intros e S; simpl; [easy|]. now apply steady_sc, IH. Qed.

(** A tensor with r indices as a value *)
Fixpoint take (r : nat) (l : list arg) : option (list R) :=
  match r, l with
  | O, _ => Some []
  | S j, AR x :: t => option_map (cons x) (take j t)
  | _, _ => None
  end.
Definition ten (r : nat) (T : tensor) : val :=
  det (fun l => match take r l with Some xs => T xs | None => 0 end).
Lemma take_length : forall r l xs, take r l = Some xs -> length xs = r.
Proof.
  induction r as [|r IH]; intros l xs H; simpl in H; [now injection H as <-|].
  destruct l as [|[x|] l]; try discriminate. destruct (take r l) eqn:T; [|discriminate].
  injection H as <-. simpl. f_equal. now apply (IH l).
Qed.
Lemma ten_ext : forall r S T, (forall l, length l = r -> S l = T l) -> ten r S = ten r T.
Proof.
  intros r S T H. unfold ten, det. apply functional_extensionality. intros w.
  apply functional_extensionality. intros l. destruct (take r l) eqn:Q; [|easy].
  apply H. now apply (take_length r l).
Qed.
Lemma ten1_ten : forall X, @ten1 Omega X = ten 1 (at1 X).
Proof.
  intros X. unfold ten1, ten, det. do 2 (apply functional_extensionality; intros ?).
  now destruct x0 as [|[]].
Qed.
Lemma ten2_ten : forall X, @ten2 Omega X = ten 2 (at2 X).
Proof.
  intros X. unfold ten2, ten, det. do 2 (apply functional_extensionality; intros ?).
  now destruct x0 as [|[] [|[]]].
Qed.
Lemma ten3_ten : forall X, @ten3 Omega X = ten 3 (at3 X).
Proof.
  intros X. unfold ten3, ten, det. do 2 (apply functional_extensionality; intros ?).
  now destruct x0 as [|[] [|[] [|[]]]].
Qed.
Lemma ten4_ten : forall X, @ten4 Omega X = ten 4 (at4 X).
Proof.
  intros X. unfold ten4, ten, det. do 2 (apply functional_extensionality; intros ?).
  now destruct x0 as [|[] [|[] [|[] [|[]]]]].
Qed.

(** *** A name that does not occur *)
Lemma misses_ok : forall fe t d w e e' l, misses d t = true -> (forall k, k <> d -> e k = e' k) ->
  eval fe t w e l = eval fe t w e' l.
Proof.
  intros fe.
  assert (forall d (v : val) e e', (forall k, k <> d -> e k = e' k) ->
    forall k, k <> S d -> scons v e k = scons v e' k) as U.
  { intros d v e e' A [|k] N; [easy|]. apply A. intros ->. now apply N. }
  induction t; intros d w e e' l M A; cbn [misses eval] in *; rewrite ?andb_true_iff in M;
    try reflexivity;
    try (apply negb_true_iff, Nat.eqb_neq in M; now rewrite (A i));
    try (now erewrite IHt by eassumption);
    try (now destruct M; erewrite IHt1, IHt2 by eassumption).
  - destruct M as [M1 M2]. erewrite IHt1 by eassumption. f_equal. apply functional_extensionality.
    intros v. apply (IHt2 (S d)); [easy|now apply U].
  - destruct M as [M1 M2]. erewrite IHt1 by eassumption. f_equal. apply functional_extensionality.
    intros v. apply (IHt2 (S d)); [easy|now apply U].
  - f_equal. apply functional_extensionality. intros w'. now apply (IHt d).
  - destruct M as [[M1 M2] M3]. erewrite IHt1, IHt2 by eassumption. do 5 f_equal.
    apply functional_extensionality. intros v. apply (IHt3 (S d)); [easy|now apply U].
  - destruct l as [|[]]; [easy| |easy]. apply (IHt (S d)); [easy|now apply U].
  - destruct M as [M1 M2]. erewrite IHt1 by eassumption. f_equal.
    do 2 (apply functional_extensionality; intros). now apply (IHt2 d).
Qed.
Lemma over_other : forall us (v v' : val) e k, k <> length us ->
  over us (scons v e) k = over us (scons v' e) k.
Proof.
  induction us as [|u us IH]; intros v v' e [|k] N; simpl in *; try easy. apply IH. lia.
Qed.
Lemma misses_over : forall fe t us w (v v' : val) e l, misses (length us) t = true ->
  eval fe t w (over us (scons v e)) l = eval fe t w (over us (scons v' e)) l.
Proof.
  intros fe t us w v v' e l M. apply (misses_ok fe t (length us) w _ _ l M).
  intros k N. now apply over_other.
Qed.

(** *** The point *)
Section Point.
Context (fe : positive -> val) (r : nat) (p : tm).
Hypothesis Hp : is_head p = false.
Hypothesis Sp : still p = true.
Definition point_ : tensor := fun l => tv fe p w0 (over (rev l) e0).

Lemma nlam_ok : forall k w e l, steady e -> eval fe (nlam k p) w e l
  = match take k l with Some xs => tv fe p w0 (over (rev xs) e) | None => 0 end.
Proof.
  induction k as [|k IH]; intros w e l S; cbn [nlam Nat.iter nat_rect take].
  - rewrite (eval_scalar E w0 fe p w e l Hp). now apply eval_still.
  - change (nat_rect (fun _ => tm) p (fun _ => Lam) k) with (nlam k p). cbn [eval].
    destruct l as [|[x|] l]; try easy. rewrite IH by (now apply steady_sc).
    destruct (take k l) as [xs|]; [|easy]. cbn [option_map rev]. now rewrite over_app.
Qed.

Lemma place_env : forall l, length l = r ->
  (fun k => vval E w0 fe (place r p k) (over (rev l) e0)) = scons (ten r point_) e0.
Proof.
  intros l L. rewrite <- (rev_length l) in L. apply functional_extensionality. intros [|k].
  - cbn [place vval scons]. unfold ten, det. do 2 (apply functional_extensionality; intros ?).
    rewrite eval_ren, nlam_ok; unfold point_.
    + assert ((fun k : nat => over (rev l) e0 (r + k)%nat) = e0) as ->; [|easy].
      apply functional_extensionality. intros k. rewrite <- L. apply over_skip.
    + intros k w w' a. rewrite <- L, over_skip. reflexivity.
  - cbn [place vval scons]. rewrite <- L. apply over_skip.
Qed.
Lemma places_env : forall l us, length l = r ->
  (fun k => vval E w0 fe (places r p (length us) k) (over us (over (rev l) e0)))
  = over us (scons (ten r point_) e0).
Proof.
  intros l us L. induction us as [|u us IH]; [now apply place_env|].
  cbn [length over]. unfold places in *. cbn [Nat.iter nat_rect].
  rewrite scons_up_vl. f_equal. exact IH.
Qed.
Lemma at_point_ok : forall t l us w a, length l = r ->
  eval fe (at_point r p (length us) t) w (over us (over (rev l) e0)) a
  = eval fe t w (over us (scons (ten r point_) e0)) a.
Proof.
  intros t l us w a L. unfold at_point, bt.
  rewrite beta_ok by (repeat apply over_steady; apply steady_e0).
  now rewrite eval_sub, places_env.
Qed.
End Point.

(** *** Conditions *)
Section Conditions.
Context (fe : positive -> val) (ps : list fm).
Hypothesis HP : forall q, In q ps -> holds0 fe q.
Notation nothing_ok := (Signs.nothing_ok E w0 fe).

Lemma opened_ok : forall c e t q q', okc fe c w0 e -> In q ps -> opened c t q = Some q' ->
  holds fe q' e.
Proof.
  intros c e t q q' O I H. unfold opened in H. destruct (fclosed 0 q) eqn:C; [|discriminate].
  apply (open_ok E w0 HE fe nothing nothing_ok c _ q q' e O H).
  apply (holds_closed E w0 fe q 0 e0 e C); [|now apply HP]. intros i Hi. lia.
Qed.
Lemma nonzero_ok : forall c e t, okc fe c w0 e -> nonzero ps c t = true -> tv fe t w0 e <> 0.
Proof.
  intros c e t O H. unfold nonzero in H. rewrite or_if in H.
  apply orb_true_iff in H. destruct H as [H|H].
  - apply (is_nz_ok _ _ H). now apply (sign_of_ok E w0 HE fe nothing nothing_ok).
  - apply existsb_exists in H. destruct H as (q & I & H).
    destruct (opened c t q) as [q'|] eqn:Op; [|discriminate].
    apply (opened_ok c e t q q' O I) in Op. destruct q'; try discriminate.
    destruct q'; try discriminate. apply andb_true_iff in H. destruct H as [Z S].
    apply teqb_eq in Z. subst. apply (same_ok E w0 HE fe nothing nothing_ok c _ _ w0 e O) in S.
    cbn [Terms.holds] in Op. rewrite !ev_tv in Op. now rewrite <- S.
Qed.
Lemma positive_ok : forall c e t, okc fe c w0 e -> positive_ ps c t = true -> 0 < tv fe t w0 e.
Proof.
  intros c e t O H. unfold positive_ in H. rewrite or_if in H.
  apply orb_true_iff in H. destruct H as [H|H].
  - apply (is_pos_ok _ _ H). now apply (sign_of_ok E w0 HE fe nothing nothing_ok).
  - apply existsb_exists in H. destruct H as (q & I & H).
    destruct (opened c t q) as [q'|] eqn:Op; [|discriminate].
    apply (opened_ok c e t q q' O I) in Op. destruct q'; try discriminate.
    apply andb_true_iff in H. destruct H as [Z S].
    apply teqb_eq in Z. subst. apply (same_ok E w0 HE fe nothing nothing_ok c _ _ w0 e O) in S.
    cbn [Terms.holds] in Op. rewrite !ev_tv in Op. now rewrite <- S.
Qed.
Lemma slope_ok : forall c e h n b v, okc fe c w0 e -> slope ps c h n b = Some v ->
  gradient1 (tv fe n w0 e)
    (fun X => eval fe h w0 e [AR (tv fe n w0 e); AF (vector (tv fe n w0 e) X)])
    (fun i => tv fe b w0 (scons (sc i) e)) (fun i => tv fe v w0 (scons (sc i) e)).
Proof.
  intros c e h n b v O H.
  assert (forall qs, (forall q, In q qs -> In q ps) -> slope qs c h n b = Some v ->
    exists q, In q ps /\ slope_of h n b (opened c (Val (ApV h n b)) q) = Some v) as A.
  { clear H. induction qs as [|q qs IH]; intros Q H; cbn [slope] in H; [discriminate|].
    destruct (slope_of h n b (opened c (Val (ApV h n b)) q)) as [u|] eqn:S.
    - injection H as ->. exists q. split; [apply Q; now left|easy].
    - apply IH; [|easy]. intros q' I. apply Q. now right. }
  destruct (A ps (fun q I => I) H) as (q & I & S).
  destruct (opened c (Val (ApV h n b)) q) as [q'|] eqn:Op; [|discriminate].
  apply (opened_ok c e _ q q' O I) in Op. unfold slope_of in S. destruct q'; try discriminate.
  match type of S with (if ?x then _ else _) = _ => destruct x eqn:T; [|discriminate] end.
  rewrite !andb_true_iff in T. destruct T as [[T1 T2] T3].
  apply teqb_eq in T1, T2, T3. subst. injection S as <-. cbn [Terms.holds] in Op.
  unfold ev in Op. cbn [Terms.eval] in Op.
  match type of Op with gradient1 ?m ?G _ _ => assert (G = fun X =>
    eval fe h w0 e [AR (tv fe n w0 e); AF (vector (tv fe n w0 e) X)]) as Q end.
  { apply functional_extensionality. intros X. now rewrite !eval_lift. }
  rewrite Q in Op. exact Op.
Qed.
End Conditions.

Opaque at_point nonzero positive_ slope.
(** *** The table *)
Lemma outer_ok : forall fe f x o w e, outer f x = Some o ->
  (match f with Fln | Fsqrt => 0 < tv fe x w e | _ => True end) ->
  derivable_pt_lim (apply_fn f) (tv fe x w e) (tv fe o w e).
Proof.
  intros fe f x o w e H P. destruct f; try discriminate; injection H as <-;
    unfold Poly.tv in *; cbn [eval apply_fn number one_] in *.
  - apply derivable_pt_lim_sin.
  - apply derivable_pt_lim_cos.
  - apply derivable_pt_lim_exp.
  - now apply derivable_pt_lim_ln.
  - rewrite Rmult_1_l. now apply derivable_pt_lim_sqrt.
Qed.
Lemma inverse_lim : forall x, x <> 0 -> derivable_pt_lim Rinv x (- ((/ x) ^ 2)).
Proof.
  intros x N. pose proof (derivable_pt_lim_div (fct_cte 1) id x 0 1
    (derivable_pt_lim_const 1 x) (derivable_pt_lim_id x) N) as H.
  unfold div_fct, fct_cte, id in H.
  replace ((0 * x - 1 * 1) / x²) with (- (/ x) ^ 2) in H by (unfold Rsqr; field; easy).
  intros eps He. destruct (H eps He) as (dl & K). exists dl. intros h Nh Lh.
  specialize (K h Nh Lh). unfold Rdiv at 2 3 in K. now rewrite !Rmult_1_l in K.
Qed.

Section Table.
Context (fe : positive -> val) (ps : list fm) (r : nat) (p : tm) (ns : list R) (l0 : list R).
Hypothesis HP : forall q, In q ps -> holds0 fe q.
Hypothesis Hp : is_head p = false.
Hypothesis Sp : still p = true.
Hypothesis Hr : length ns = r.
Hypothesis Hl : inside ns l0.
Notation P := (point_ fe p).
Notation "'near' us h" := (over us (scons (ten r (fun l => P l + h l)) e0))
  (at level 10, us at level 9, h at level 9).
Notation "'entry' us l" := (over us (over (rev l) e0)) (at level 10, us at level 9, l at level 9).
Definition value_at (v : option tm) (us l : list R) : R :=
  match v with None => 0 | Some x => tv fe x w0 (entry us l) end.

Lemma l_length : forall l, inside ns l -> length l = r.
Proof. intros l H. rewrite <- Hr. now apply inside_length. Qed.
Lemma near_origin : forall us, near us origin = over us (scons (ten r P) e0).
Proof.
  intros us. do 2 f_equal. apply ten_ext. intros l _. unfold origin. ring.
Qed.
Lemma at_near : forall t us l a, inside ns l ->
  eval fe (at_point r p (length us) t) w0 (entry us l) a = eval fe t w0 (near us origin) a.
Proof.
  intros t us l a I. rewrite near_origin. apply at_point_ok; try easy. now apply l_length.
Qed.
Lemma tv_near : forall t us l, inside ns l ->
  tv fe (at_point r p (length us) t) w0 (entry us l) = tv fe t w0 (near us origin).
Proof. intros. now apply at_near. Qed.
Lemma missing : forall t us h a, misses (length us) t = true ->
  eval fe t w0 (near us h) a = eval fe t w0 (near us origin) a.
Proof. intros. now apply misses_over. Qed.

Lemma plus_value : forall x y us l,
  value_at (plus_opt x y) us l = value_at x us l + value_at y us l.
Proof.
  intros [x|] [y|] us l; cbn [plus_opt value_at]; try ring. reflexivity.
Qed.

Lemma arguments_ok : forall us h ss xs, arguments (length us) h = Some ss -> 
  forall a, eval fe h w0 (near us xs) a
  = eval fe (HBound (length us)) w0 (near us xs)
      (map (fun s => AR (tv fe s w0 (near us origin))) ss ++ a).
Proof.
  intros us. induction h; intros ss xs H a; cbn [arguments] in H; try discriminate.
  - destruct (Nat.eqb i (length us)) eqn:Q; [|discriminate]. injection H as <-.
    apply Nat.eqb_eq in Q. now subst.
  - destruct (misses (length us) h2) eqn:M; [|discriminate].
    destruct (arguments (length us) h1) as [l|] eqn:A; [|discriminate]. injection H as <-.
    cbn [eval]. rewrite (IHh1 l xs eq_refl). rewrite map_app, <- app_assoc. cbn [map app].
    unfold Poly.tv. now rewrite (missing h2 us xs [] M).
Qed.
Lemma take_map : forall k xs a, length xs = k -> take k (map AR xs ++ a) = Some xs.
Proof.
  induction k as [|k IH]; intros [|x xs] a L; try discriminate; [easy|].
  cbn [map app take]. rewrite IH; [easy|]. now injection L.
Qed.
Lemma entry_value : forall us T e xs a, length xs = r ->
  eval fe (HBound (length us)) w0 (over us (scons (ten r T) e)) (map AR xs ++ a) = T xs.
Proof.
  intros us T e xs a L. cbn [eval]. rewrite <- (Nat.add_0_r (length us)), over_skip.
  cbn [scons]. unfold ten, det. now rewrite take_map.
Qed.

(** The index j of the entry, counted from the end *)
Lemma index_of : forall us l x t, entry us (t ++ x :: l) (length us + length l)%nat = sc x.
Proof.
  intros us l x t. rewrite over_skip. rewrite rev_app_distr. cbn [rev].
  rewrite <- app_assoc, over_app. rewrite <- (rev_length l), <- (Nat.add_0_r (length (rev l))).
  now rewrite over_skip.
Qed.
Lemma factors_ok : forall us ss l t u, length l = length ss ->
  tv fe (delta_factors (length us) ss u) w0 (entry us (t ++ l))
  = tv fe u w0 (entry us (t ++ l))
    * deltas l (map (fun s => tv fe s w0 (entry us (t ++ l))) ss).
Proof.
  intros us. induction ss as [|s ss IH]; intros [|x l] t u L; try discriminate;
    cbn [delta_factors map deltas]; [ring|].
  injection L as L. replace (t ++ x :: l) with ((t ++ [x]) ++ l) by (now rewrite <- app_assoc).
  rewrite (IH l (t ++ [x]) _ L). unfold Poly.tv at 1. cbn [eval].
  rewrite <- app_assoc. cbn [app]. rewrite <- L, index_of. unfold sc. unfold Poly.tv. ring.
Qed.
Lemma product_ok : forall us ss l, length l = length ss ->
  tv fe (delta_product (length us) ss) w0 (entry us l)
  = deltas l (map (fun s => tv fe s w0 (entry us l)) ss).
Proof.
  intros us [|s ss] [|x l] L; try discriminate; [reflexivity|]. injection L as L.
  cbn [delta_product]. change (x :: l) with ([x] ++ l) at 1 2. rewrite factors_ok by easy.
  unfold Poly.tv at 1. cbn [eval]. rewrite <- L.
  pose proof (index_of us l x []) as Ix. cbn [app] in *. rewrite Ix. reflexivity.
Qed.

Definition sound (t : tm) : Prop := forall c us v, partial ps r p c (length us) t = Some v ->
  (forall l, inside ns l -> okc fe c w0 (entry us l)) ->
  gradient ns (fun h => tv fe t w0 (near us h)) (value_at v us).

Lemma sound_step : forall t,
  (forall a, match t with
   | Add x y | Mul x y => a = x \/ a = y
   | Opp x | Inv x | Pow x _ | Fn _ x | TSum _ x | Val (ApV _ _ x) => a = x
   | _ => False
   end -> sound a) -> sound t.
Proof.
  intros t IH c us v H O.
  assert (forall t, misses (length us) t = true ->
    gradient ns (fun h => tv fe t w0 (near us h)) (value_at None us)) as Const.
  { intros u M. apply (gradient_ext ns (fun _ => tv fe u w0 (near us origin)) _ (fun _ => 0) _).
    - intros h _. symmetry. now apply missing.
    - easy.
    - apply gradient_const. }
  destruct (misses (length us) t) eqn:M.
  { assert (v = None) as ->; [|now apply Const].
    destruct t; cbn [partial] in H; rewrite M in H; now injection H as <-. }
  destruct t; cbn [partial] in H; rewrite M in H; try discriminate.
  - (* a + b *)
    destruct (partial ps r p c (length us) t1) as [x|] eqn:A; [|discriminate].
    destruct (partial ps r p c (length us) t2) as [y|] eqn:B; [|discriminate]. injection H as <-.
    apply (gradient_ext ns _ _ _ _ (fun h _ => eq_refl) (fun l _ => eq_sym (plus_value x y us l))).
    apply (gradient_plus ns _ _ _ _ (IH t1 ltac:(tauto) c us x A O) (IH t2 ltac:(tauto) c us y B O)).
  - (* a b *)
    destruct (partial ps r p c (length us) t1) as [x|] eqn:A; [|discriminate].
    destruct (partial ps r p c (length us) t2) as [y|] eqn:B; [|discriminate]. injection H as <-.
    pose proof (gradient_mult ns _ _ _ _ (IH t1 ltac:(tauto) c us x A O) (IH t2 ltac:(tauto) c us y B O)) as D.
    apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 D); [reflexivity|].
    intros l I. rewrite plus_value. f_equal.
    + destruct x as [x|]; cbn [option_map value_at]; [|ring]. unfold Poly.tv. cbn [eval].
      now rewrite (at_near t2 us l [] I).
    + destruct y as [y|]; cbn [option_map value_at]; [|ring]. unfold Poly.tv. cbn [eval].
      now rewrite (at_near t1 us l [] I).
  - (* - a *)
    destruct (partial ps r p c (length us) t) as [x|] eqn:A; [|discriminate]. injection H as <-.
    pose proof (gradient_scal ns _ _ (-1) (IH t ltac:(tauto) c us x A O)) as D.
    apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 D).
    + intros h _. unfold Poly.tv. cbn [eval]. ring.
    + intros l I. destruct x as [x|]; cbn [option_map value_at]; unfold Poly.tv; cbn [eval]; ring.
  - (* / a *)
    destruct (nonzero ps c (at_point r p (length us) t)) eqn:N; [|discriminate].
    destruct (partial ps r p c (length us) t) as [x|] eqn:A; [|discriminate]. injection H as <-.
    apply (nonzero_ok fe ps HP c (entry us l0) _ (O l0 Hl)) in N. rewrite tv_near in N by easy.
    pose proof (gradient_compose ns _ _ _ _ (IH t ltac:(tauto) c us x A O) (inverse_lim _ N)) as D.
    apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 D); [reflexivity|].
    intros l I. destruct x as [x|]; cbn [option_map value_at]; [|ring].
    unfold Poly.tv. cbn [eval]. rewrite (at_near t us l [] I). ring.
  - (* a ^ k *)
    destruct (partial ps r p c (length us) t) as [x|] eqn:A; [|discriminate]. injection H as <-.
    pose proof (gradient_compose ns _ _ _ _ (IH t ltac:(tauto) c us x A O) (derivable_pt_lim_pow _ k)) as D.
    apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 D); [reflexivity|].
    intros l I. destruct x as [x|]; cbn [option_map value_at]; [|ring].
    unfold Poly.tv. cbn [eval number]. rewrite (at_near t us l [] I), INR_IZR_INZ. ring.
  - (* f(a) *)
    match type of H with (if ?b then _ else _) = _ => destruct b eqn:N; [|discriminate] end.
    destruct (outer f (at_point r p (length us) t)) as [o|] eqn:Q; [|discriminate].
    destruct (partial ps r p c (length us) t) as [x|] eqn:A; [|discriminate]. injection H as <-.
    assert (forall l, inside ns l -> derivable_pt_lim (apply_fn f) (tv fe t w0 (near us origin))
      (tv fe o w0 (entry us l))) as L.
    { intros l I. rewrite <- (tv_near t us l I). apply (outer_ok fe f _ o); [easy|].
      destruct f; try easy; apply (positive_ok fe ps HP c (entry us l) _ (O l I) N). }
    pose proof (gradient_compose ns _ _ _ _ (IH t ltac:(tauto) c us x A O) (L l0 Hl)) as D.
    apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 D); [reflexivity|].
    intros l I. destruct x as [x|]; cbn [option_map value_at]; [|ring].
    rewrite (uniqueness_limite _ _ _ _ (L l0 Hl) (L l I)). reflexivity.
  - (* sums *)
    destruct (misses (length us) t1) eqn:M1; [|discriminate].
    set (n' := at_point r p (length us) t1) in *.
    destruct (partial ps r p (CIdx n' :: c) (S (length us)) t2) as [x|] eqn:A; [|discriminate].
    injection H as <-. set (n := tv fe t1 w0 (near us origin)).
    assert (forall u, is_index n u ->
      gradient ns (fun h => tv fe t2 w0 (near (u :: us) h)) (value_at x (u :: us))) as D.
    { intros u Iu. apply (IH t2 eq_refl (CIdx n' :: c) (u :: us) x A). intros l I. cbn [over].
      apply okc_idx; [now apply O|]. unfold n'. now rewrite tv_near. }
    pose proof (gradient_Sum ns n _ _ D) as G.
    apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 G).
    + intros h _. unfold Poly.tv at 2. cbn [eval]. now rewrite (missing t1 us h [] M1).
    + intros l I. destruct x as [x|]; cbn [option_map value_at]; [|apply Sum_0].
      unfold Poly.tv at 2. cbn [eval]. unfold n'. now rewrite (at_near t1 us l [] I).
  - (* entries and functions of vectors *)
    assert (forall ss, arguments (length us) t = Some ss -> length ss = r ->
      gradient ns (fun h => tv fe (Val t) w0 (near us h))
        (value_at (Some (delta_product (length us) (map (at_point r p (length us)) ss))) us)) as En.
    { intros ss A L. set (xs := map (fun s => tv fe s w0 (near us origin)) ss).
      assert (length xs = r) as Lx by (unfold xs; now rewrite map_length).
      assert (gradient ns (fun h => P xs + h xs) (fun l => deltas l xs)) as D
        by (apply gradient_entry; now rewrite Hr).
      apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 D).
      - intros h _. unfold Poly.tv. cbn [eval]. rewrite (arguments_ok us t ss h A []).
        rewrite app_nil_r, <- (map_map (fun s => tv fe s w0 (near us origin)) AR).
        fold xs. rewrite <- (app_nil_r (map AR xs)). now rewrite entry_value.
      - intros l I. cbn [value_at]. rewrite product_ok; [|rewrite map_length, L; now apply l_length].
        f_equal. unfold xs. rewrite map_map. apply map_ext. intros s. now rewrite tv_near. }
    destruct t;
      try (cbn [arguments] in H; discriminate);
      try (match type of H with match ?a with _ => _ end = _ =>
             destruct a eqn:A; [|discriminate] end;
           destruct (Nat.eqb (length _) r) eqn:L; [|discriminate]; injection H as <-;
           apply Nat.eqb_eq in L; now apply En).
    destruct (misses (length us) t1 && misses (length us) t2) eqn:M'; [|discriminate].
    apply andb_true_iff in M'. destruct M' as [M1 M2].
    set (h' := at_point r p (length us) t1) in *. set (n' := at_point r p (length us) t2) in *.
    set (b' := at_point r p (S (length us)) t3) in *.
    destruct (slope ps c h' n' b') as [s|] eqn:Sl; [|discriminate].
    destruct (partial ps r p (CIdx n' :: c) (S (length us)) t3) as [x|] eqn:A; [|discriminate].
    injection H as <-. set (n := tv fe t2 w0 (near us origin)).
    set (G := fun X => eval fe t1 w0 (near us origin) [AR n; AF (vector n X)]).
    set (q := fun i => tv fe t3 w0 (near (i :: us) origin)).
    assert (forall l, inside ns l ->
      gradient1 n G q (fun i => tv fe s w0 (entry (i :: us) l))) as Gs.
    { intros l I. pose proof (slope_ok fe ps HP c (entry us l) h' n' b' s (O l I) Sl) as D.
      assert (tv fe n' w0 (entry us l) = n) as En' by (now apply tv_near).
      rewrite En' in D.
      assert ((fun X => eval fe h' w0 (entry us l) [AR n; AF (vector n X)]) = G) as EG.
      { apply functional_extensionality. intros X. now apply at_near. }
      rewrite EG in D.
      assert ((fun i => tv fe b' w0 (scons (sc i) (entry us l))) = q) as Eq.
      { apply functional_extensionality. intros i. apply (tv_near t3 (i :: us) l I). }
      rewrite Eq in D. exact D. }
    assert (forall u, is_index n u ->
      gradient ns (fun h => tv fe t3 w0 (near (u :: us) h)) (value_at x (u :: us))) as D.
    { intros u Iu. apply (IH t3 eq_refl (CIdx n' :: c) (u :: us) x A). intros l I. cbn [over].
      apply okc_idx; [now apply O|]. unfold n'. now rewrite tv_near. }
    assert (forall X Y, (forall i, is_index n i -> X i = Y i) -> G X = G Y) as Gv.
    { intros X Y Q. unfold G. now rewrite (vector_ext n X Y Q). }
    pose proof (gradient_chain ns n G q _ (fun i h => tv fe t3 w0 (near (i :: us) h)) _
      (Gs l0 Hl) Gv D (fun i _ => eq_refl)) as Ch.
    apply (fun H1 H2 => gradient_ext ns _ _ _ _ H1 H2 Ch).
    + intros h _. unfold Poly.tv. cbn [eval]. rewrite (missing t1 us h _ M1), (missing t2 us h _ M2).
      reflexivity.
    + intros l I. assert (forall i, is_index n i ->
        tv fe s w0 (entry (i :: us) l0) = tv fe s w0 (entry (i :: us) l)) as U.
      { intros i Ii. pose proof (Gs l0 Hl) as G0. pose proof (Gs l I) as G1.
        apply gradient1_iff in G0, G1.
        apply (gradient_unique [n] _ _ _ G0 G1 [i]). simpl. tauto. }
      destruct x as [x|]; cbn [option_map value_at].
      * unfold Poly.tv at 3. cbn [eval]. unfold n' at 1. rewrite (at_near t2 us l [] I).
        apply Sum_ext. intros i Ii. rewrite (U i Ii). reflexivity.
      * transitivity (Sum n (fun _ => 0)); [|apply Sum_0]. apply Sum_ext. intros. ring.
Qed.
Lemma partial_ok : forall t, sound t.
Proof.
  assert (forall t, sound t /\ match t with ApV _ _ b => sound b | _ => True end) as B;
    [|intros t; apply B].
  induction t; (split; [|tauto]); apply sound_step; intros a H; try contradiction.
  - destruct H as [-> | ->]; tauto.
  - destruct H as [-> | ->]; tauto.
  - subst; tauto.
  - subst; tauto.
  - subst; tauto.
  - subst; tauto.
  - subst; tauto.
  - destruct t; try contradiction. subst; tauto.
Qed.
End Table.

(** *** The rules *)
Lemma tv_add : forall fe n us e, tv fe (ren (Nat.add (length us)) n) w0 (over us e) = tv fe n w0 e.
Proof.
  intros fe n us e. unfold Poly.tv. rewrite eval_ren. f_equal. apply functional_extensionality.
  intros k. apply over_skip.
Qed.
Definition ranges fe (ns : list tm) : list R := map (fun n => tv fe n w0 e0) ns.
Lemma entries_ok : forall fe ns us c l, okc fe c w0 (over us e0) -> inside (ranges fe ns) l ->
  okc fe (entries (length us) ns c) w0 (over (rev l) (over us e0)).
Proof.
  intros fe. induction ns as [|n ns IH]; intros us c [|i l] O I; simpl in I; try easy.
  destruct I as [Ii Il]. cbn [entries rev]. rewrite over_app.
  apply (IH (i :: us)); [|easy]. cbn [over]. apply okc_idx; [easy|]. now rewrite tv_add.
Qed.
Lemma all_entries_ok : forall fe ns us p,
  holds fe (all_entries (length us) ns p) (over us e0) <->
  (forall l, inside (ranges fe ns) l -> holds fe p (over (rev l) (over us e0))).
Proof.
  intros fe. induction ns as [|n ns IH]; intros us p; cbn [all_entries].
  - split; [|intros H; now apply (H [])]. intros H [|i l] I; [exact H|contradiction].
  - cbn [Terms.holds all_of]. rewrite ev_tv, tv_add. split.
    + intros H [|i l] I; [contradiction|]. destruct I as [Ii Il]. cbn [rev]. rewrite over_app.
      apply (IH (i :: us) p); [|easy]. now apply H.
    + intros H i Ii. apply (IH (i :: us) p). intros l Il. specialize (H (i :: l)).
      cbn [rev] in H. rewrite over_app in H. apply H. now split.
Qed.

(** Any gradient, in the entries of a list *)
Definition has_gradient fe (ns : list tm) (f p v : tm) : Prop :=
  gradient (ranges fe ns)
    (fun h => tv fe f w0 (scons (ten (length ns) (fun l => point_ fe p l + h l)) e0))
    (fun l => tv fe v w0 (over (rev l) e0)).
Lemma parts_ok : forall fe g ns f p v, gradient_parts g = Some (ns, f, p, v) ->
  (holds0 fe g <-> has_gradient fe ns f p v).
Proof.
  intros fe g ns f p v H. destruct g; try discriminate; injection H as <- -> -> ->;
    cbn [Terms.holds]; unfold has_gradient; cbn [ranges map length].
  - rewrite gradient1_iff.
    assert (forall h, ten1 (fun i => ev E w0 fe p (scons (sc i) e0) + h [i])
      = ten 1 (fun l => point_ fe p l + h l)) as T.
    { intros h. rewrite ten1_ten. apply ten_ext. now intros [|i [|? ?]] L. }
    apply gradient_ext_iff; [intros h; now rewrite T|intros [|i [|? ?]] I; cbn [inside] in I; try tauto].
  - rewrite gradient2_iff.
    assert (forall h, ten2 (fun i j => ev E w0 fe p (scons (sc j) (scons (sc i) e0)) + h [i; j])
      = ten 2 (fun l => point_ fe p l + h l)) as T.
    { intros h. rewrite ten2_ten. apply ten_ext. now intros [|i [|j [|? ?]]] L. }
    apply gradient_ext_iff; [intros h; now rewrite T|intros [|i [|j [|? ?]]] I; cbn [inside] in I; try tauto].
  - rewrite gradient3_iff.
    assert (forall h, ten3 (fun i j z => ev E w0 fe p (scons (sc z) (scons (sc j) (scons (sc i) e0))) + h [i; j; z])
      = ten 3 (fun l => point_ fe p l + h l)) as T.
    { intros h. rewrite ten3_ten. apply ten_ext. now intros [|i [|j [|z [|? ?]]]] L. }
    apply gradient_ext_iff; [intros h; now rewrite T|intros [|i [|j [|z [|? ?]]]] I; cbn [inside] in I; try tauto].
  - rewrite gradient4_iff.
    assert (forall h, ten4 (fun a b z y => ev E w0 fe p (scons (sc y) (scons (sc z) (scons (sc b) (scons (sc a) e0)))) + h [a; b; z; y])
      = ten 4 (fun l => point_ fe p l + h l)) as T.
    { intros h. rewrite ten4_ten. apply ten_ext. now intros [|a [|b [|z [|y [|? ?]]]]] L. }
    apply gradient_ext_iff; [intros h; now rewrite T|intros [|a [|b [|z [|y [|? ?]]]]] I; cbn [inside] in I; try tauto].
Qed.

Lemma derivative_ok : forall ps goal t, Forall valid ps -> r_derivative ps goal = Some t -> valid t.
Proof.
  intros ps goal t V H. unfold r_derivative, check in H.
  destruct (derivative (map snd ps) goal) eqn:D; [|discriminate]. injection H as <-.
  intros fe G. cbn [fst snd] in *.
  assert (forall q, In q (map snd ps) -> holds0 fe q) as HP.
  { intros q I. apply in_map_iff in I. destruct I as (u & <- & I).
    now apply (unions_valid E w0 ps fe). }
  unfold derivative in D. destruct (gradient_parts goal) as [[[[ns f] p] v]|] eqn:Q; [|discriminate].
  apply (parts_ok fe goal ns f p v Q). rewrite !andb_true_iff in D. destruct D as [[N S] D].
  apply negb_true_iff in N.
  set (c := entries 0 ns []) in *.
  destruct (classic (exists l, inside (ranges fe ns) l)) as [(l0 & I0)|No].
  2: { apply gradient_empty. intros l I. apply No. now exists l. }
  assert (forall l, inside (ranges fe ns) l -> okc fe c w0 (over (rev l) e0)) as O.
  { intros l I. apply (entries_ok fe ns [] [] l); [apply steady_e0|easy]. }
  destruct (partial (map snd ps) (length ns) p c 0 f) as [x|] eqn:A; [|discriminate].
  assert (length (ranges fe ns) = length ns) as L by (unfold ranges; now rewrite map_length).
  pose proof (partial_ok fe (map snd ps) (length ns) p (ranges fe ns) l0 HP N S L I0 f c [] x A O) as K.
  apply (fun H1 H2 => gradient_ext _ _ _ _ _ H1 H2 K); [reflexivity|]. intros l I.
  destruct x as [x|]; cbn [value_at over];
    now rewrite (same_ok E w0 HE fe nothing (nothing_ok E w0 fe) c v _ w0 _ (O l I) D).
Qed.

Lemma gradient_value_ok : forall p q goal t, valid p -> valid q ->
  r_gradient_value p q goal = Some t -> valid t.
Proof.
  intros p q goal t Vp Vq H. unfold r_gradient_value, check in H.
  destruct (gradient_parts (snd p)) as [[[[ns f] x] v]|] eqn:Pp; [|discriminate].
  destruct (gradient_parts goal) as [[[[ms g] y] w]|] eqn:Pg; [|discriminate].
  match type of H with (if ?b then _ else _) = _ => destruct b eqn:B; [|discriminate] end.
  injection H as <-. intros fe G. cbn [fst snd] in *.
  rewrite !andb_true_iff in B. destruct B as [[[B1 B2] B3] B4].
  apply seqb_eq in B1. apply teqb_eq in B2, B3. subst.
  apply (parts_ok fe goal _ _ _ _ Pg).
  assert (has_gradient fe ms g y v) as D.
  { apply (parts_ok fe (snd p) _ _ _ _ Pp). apply Vp. intros; apply G; now apply union_l. }
  assert (holds0 fe (snd q)) as Hq by (apply Vq; intros; apply G; now apply union_r).
  apply (equal_ok E w0 HE fe _ _ B4) in Hq.
  pose proof (proj1 (all_entries_ok fe ms [] _) Hq) as K.
  apply (fun H1 H2 => gradient_ext _ _ _ _ _ H1 H2 D); [reflexivity|exact K].
Qed.
Lemma gradient_function_ok : forall p q goal t, valid p -> valid q ->
  r_gradient_function p q goal = Some t -> valid t.
Proof.
  intros p q goal t Vp Vq H. unfold r_gradient_function, check in H.
  destruct (gradient_parts (snd p)) as [[[[ns f] x] v]|] eqn:Pp; [|discriminate].
  destruct (gradient_parts goal) as [[[[ms g] y] w]|] eqn:Pg; [|discriminate].
  match type of H with (if ?b then _ else _) = _ => destruct b eqn:B; [|discriminate] end.
  injection H as <-. intros fe G. cbn [fst snd] in *.
  rewrite !andb_true_iff in B. destruct B as [[[B1 B2] B3] B4].
  apply seqb_eq in B1. apply teqb_eq in B2, B3. subst.
  apply (parts_ok fe goal _ _ _ _ Pg).
  assert (has_gradient fe ms f y w) as D.
  { apply (parts_ok fe (snd p) _ _ _ _ Pp). apply Vp. intros; apply G; now apply union_l. }
  assert (holds0 fe (snd q)) as Hq by (apply Vq; intros; apply G; now apply union_r).
  apply (equal_ok E w0 HE fe _ _ B4) in Hq. cbn [Terms.holds all_of] in Hq.
  apply (fun H1 H2 => gradient_ext _ _ _ _ _ H1 H2 D); [|reflexivity].
  intros h _. set (T := fun l => point_ fe y l + h l).
  destruct goal; try discriminate; injection Pg as <- <- <- <-; cbn [length] in *.
  - specialize (Hq (fun i => T [i])). change (det (ap_list 1 (fun i => T [i]))) with
      (@ten1 Omega (fun i => T [i])) in Hq. rewrite ten1_ten in Hq.
    rewrite (ten_ext 1 _ T) in Hq by (now intros [|i [|? ?]] L). exact Hq.
  - specialize (Hq (fun i j => T [i; j])). change (det (ap_list 2 (fun i j => T [i; j]))) with
      (@ten2 Omega (fun i j => T [i; j])) in Hq. rewrite ten2_ten in Hq.
    rewrite (ten_ext 2 _ T) in Hq by (now intros [|i [|j [|? ?]]] L). exact Hq.
  - specialize (Hq (fun i j z => T [i; j; z])). change (det (ap_list 3 (fun i j z => T [i; j; z])))
      with (@ten3 Omega (fun i j z => T [i; j; z])) in Hq. rewrite ten3_ten in Hq.
    rewrite (ten_ext 3 _ T) in Hq by (now intros [|i [|j [|z [|? ?]]]] L). exact Hq.
  - specialize (Hq (fun a b z y => T [a; b; z; y])). change (det (ap_list 4 (fun a b z y => T [a; b; z; y])))
      with (@ten4 Omega (fun a b z y => T [a; b; z; y])) in Hq. rewrite ten4_ten in Hq.
    rewrite (ten_ext 4 _ T) in Hq by (now intros [|a [|b [|z [|y [|? ?]]]]] L). exact Hq.
Qed.
Lemma gradient_unique_ok : forall p q t, valid p -> valid q -> r_gradient_unique p q = Some t ->
  valid t.
Proof.
  intros p q t Vp Vq H. unfold r_gradient_unique, check in H.
  destruct (gradient_parts (snd p)) as [[[[ns f] x] v]|] eqn:Pp; [|discriminate].
  destruct (gradient_parts (snd q)) as [[[[ms g] y] w]|] eqn:Pg; [|discriminate].
  match type of H with (if ?b then _ else _) = _ => destruct b eqn:B; [|discriminate] end.
  injection H as <-. intros fe G. cbn [fst snd] in *.
  rewrite !andb_true_iff in B. destruct B as [[B1 B2] B3].
  apply seqb_eq in B1. apply teqb_eq in B2, B3. subst.
  assert (has_gradient fe ms g y v) as D.
  { apply (parts_ok fe (snd p) _ _ _ _ Pp). apply Vp. intros; apply G; now apply union_l. }
  assert (has_gradient fe ms g y w) as D'.
  { apply (parts_ok fe (snd q) _ _ _ _ Pg). apply Vq. intros; apply G; now apply union_r. }
  apply (all_entries_ok fe ms []). intros l I. cbn [Terms.holds over]. rewrite !ev_tv.
  exact (gradient_unique _ _ _ _ D D' l I).
Qed.
End Sound.
