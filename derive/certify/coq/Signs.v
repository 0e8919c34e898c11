(** What is known of signs and integers. *)
Require Import ZArith QArith Qreals Lia Lra FunctionalExtensionality Bool.
From Derive Require Import Prelude Sums Terms Poly.
Close Scope Q_scope.
Open Scope R_scope.

Inductive sign := SUnk | SNz | SNn | SPos.
Definition both (a b : sign) : sign :=
  match a, b with
  | SPos, _ | _, SPos | SNz, SNn | SNn, SNz => SPos
  | SUnk, s => s
  | s, _ => s
  end.
Definition is_pos (s : sign) : bool := match s with SPos => true | _ => false end.
Definition is_nn (s : sign) : bool := match s with SPos | SNn => true | _ => false end.
Definition is_nz (s : sign) : bool := match s with SPos | SNz => true | _ => false end.
Definition of_num (p : Z) : sign :=
  match p with Zpos _ => SPos | Z0 => SNn | Zneg _ => SNz end.
Definition of_add (a b : sign) : sign :=
  if is_nn a && is_nn b then if is_pos a || is_pos b then SPos else SNn else SUnk.
Definition of_mul (a b : sign) : sign :=
  if is_pos a && is_pos b then SPos
  else if is_nn a && is_nn b then SNn
  else if is_nz a && is_nz b then SNz else SUnk.
Definition of_pow (s : sign) (k : nat) : sign :=
  match k with
  | O => SPos
  | _ => if Nat.even k then if is_nz s then SPos else SNn else s
  end.
Definition of_opp (s : sign) : sign := if is_nz s then SNz else SUnk.
Definition of_fn (f : fname) (s : sign) : sign :=
  match f with
  | Fexp => SPos
  | Fsqrt => if is_pos s then SPos else SNn
  | Fabs => if is_nz s then SPos else SNn
  | Ffloor => if is_nn s then SNn else SUnk
  | _ => SUnk
  end.
Definition of_max (a b : sign) : sign :=
  if is_pos a || is_pos b then SPos else if is_nn a || is_nn b then SNn else SUnk.
Definition of_min (a b : sign) : sign :=
  if is_pos a && is_pos b then SPos else if is_nn a && is_nn b then SNn else SUnk.
Definition of_sum (n b : sign) : sign :=
  if is_pos b && is_pos n then SPos else if is_nn b then SNn else SUnk.

Record known := { ksign : list (tm * sign); kint : list tm }.
Definition nothing : known := {| ksign := []; kint := [] |}.
Fixpoint look (l : list (tm * sign)) (t : tm) : sign :=
  match l with
  | [] => SUnk
  | (u, s) :: r => if teqb u t then both s (look r t) else look r t
  end.
Fixpoint memb (t : tm) (l : list tm) : bool :=
  match l with [] => false | u :: r => teqb u t || memb t r end.

Fixpoint sgn (K : known) (c : ctx) (t : tm) {struct t} : sign :=
  both (look (ksign K) t)
  match t with
  | Num p _ => of_num p
  | Pi => SPos
  | Free _ KNat _ => SNn
  | Free _ KDim _ => SPos
  | Free _ KFin n => if is_pos (sgn K [] n) then SNn else SUnk
  | Bound i => match nth i c CAny with CAny => SUnk | _ => SNn end
  | Add a b => of_add (sgn K c a) (sgn K c b)
  | Mul a b => of_mul (sgn K c a) (sgn K c b)
  | Opp a => of_opp (sgn K c a)
  | Inv a => sgn K c a
  | Pow a k => of_pow (sgn K c a) k
  | Fn f a => of_fn f (sgn K c a)
  | Max a b => of_max (sgn K c a) (sgn K c b)
  | Min a b => of_min (sgn K c a) (sgn K c b)
  | RPow a _ => if is_pos (sgn K c a) then SPos else SUnk
  | Delta _ _ => SNn
  | TSum n b => of_sum (sgn K c n) (sgn K (CIdx n :: c) b)
  | TProd n b => if is_pos (sgn K (CIdx n :: c) b) then SPos else SUnk
  | _ => SUnk
  end.

Fixpoint intt (K : known) (c : ctx) (t : tm) {struct t} : bool :=
  memb t (kint K) ||
  match t with
  | Num p q => Z.eqb (Z.modulo p (Zpos q)) 0
  | Free _ k _ => match k with KReal => false | _ => true end
  | Bound i => match nth i c CAny with CAny => false | _ => true end
  | Add a b | Mul a b | Max a b | Min a b => intt K c a && intt K c b
  | Opp a | Pow a _ | Fn Fabs a => intt K c a
  | Fn Ffloor _ | Delta _ _ => true
  | TSum n b => intt K (CIdx n :: c) b
  | _ => false
  end.

Definition intm (K : known) (c : ctx) (m : mono) : bool :=
  memb (mono_tm 1 (fst m) (snd m)) (kint K)
  || forallb (fun tk => intt K (ext c (fst m)) (fst tk)) (snd m).
Definition q_int (q : Q) : bool := Z.eqb (Z.modulo (Qnum q) (Zpos (Qden q))) 0.
Definition intp (K : known) (c : ctx) (p : poly) : bool :=
  memb (to_tm p) (kint K) || forallb (fun cm => q_int (fst cm) && intm K c (snd cm)) p.

Section Meaning.
Context {Omega : Type} (E : (Omega -> R) -> R) (w0 : Omega) (fe : positive -> @val Omega).
Notation env := (@env Omega).
Notation tv := (tv E w0 fe).
Notation okc := (okc E w0 fe).

Definition sign_ok (s : sign) (x : R) : Prop :=
  match s with SUnk => True | SNz => x <> 0 | SNn => 0 <= x | SPos => 0 < x end.
Definition known_ok (K : known) : Prop :=
  (forall t s, In (t, s) (ksign K) ->
     closed 0 t = true /\ still t = true /\ sign_ok s (tv t w0 e0)) /\
  (forall t, In t (kint K) -> closed 0 t = true /\ still t = true /\ is_int (tv t w0 e0)).

Lemma nothing_ok : known_ok nothing.
Proof. split; intros; contradiction. Qed.

Lemma tv_rest : forall t w e, closed 0 t = true -> still t = true -> tv t w e = tv t w0 e0.
Proof.
  intros t w e C S. unfold Poly.tv. rewrite (eval_closed0 _ _ _ t w e e0) by easy.
  apply eval_still; [easy|apply steady_e0].
Qed.

Lemma both_ok : forall a b x, sign_ok a x -> sign_ok b x -> sign_ok (both a b) x.
Proof. intros [] [] x A B; simpl in *; lra. Qed.

Lemma look_ok : forall K t w e, known_ok K -> sign_ok (look (ksign K) t) (tv t w e).
Proof.
  intros K t w e [H _]. induction (ksign K) as [|[u s] l IH]; simpl; [easy|].
  assert (forall t s, In (t, s) l -> closed 0 t = true /\ still t = true /\
    sign_ok s (tv t w0 e0)) as H' by (intros; apply H; now right).
  destruct (teqb u t) eqn:Q; [|auto]. apply teqb_eq in Q. subst. apply both_ok; [|auto].
  destruct (H t s) as (C & S & O); [now left|]. now rewrite tv_rest.
Qed.

Lemma memb_ok : forall K t w e, known_ok K -> memb t (kint K) = true -> is_int (tv t w e).
Proof.
  intros K t w e [_ H] M.
  assert (In t (kint K)) as I.
  { clear H. induction (kint K) as [|u l IH]; simpl in M; [easy|].
    destruct (teqb u t) eqn:Q; [left; now apply teqb_eq|right; auto]. }
  destruct (H t I) as (C & S & O). now rewrite tv_rest.
Qed.

Lemma is_pos_ok : forall s x, is_pos s = true -> sign_ok s x -> 0 < x.
Proof. now intros []. Qed.
Lemma is_nn_ok : forall s x, is_nn s = true -> sign_ok s x -> 0 <= x.
Proof. intros [] x H O; simpl in *; try easy. lra. Qed.
Lemma is_nz_ok : forall s x, is_nz s = true -> sign_ok s x -> x <> 0.
Proof. intros [] x H O; simpl in *; try easy. lra. Qed.

Lemma of_add_ok : forall a b x y, sign_ok a x -> sign_ok b y -> sign_ok (of_add a b) (x + y).
Proof. intros [] [] x y A B; simpl in *; try easy; lra. Qed.
Lemma of_mul_ok : forall a b x y, sign_ok a x -> sign_ok b y -> sign_ok (of_mul a b) (x * y).
Proof.
  intros [] [] x y A B; simpl in *; try easy;
    try (apply Rmult_integral_contrapositive_currified; lra);
    try (apply Rmult_le_pos; lra); try (now apply Rmult_lt_0_compat).
Qed.
Lemma of_opp_ok : forall a x, sign_ok a x -> sign_ok (of_opp a) (- x).
Proof. intros [] x A; simpl in *; try easy; lra. Qed.
Lemma of_inv_ok : forall a x, sign_ok a x -> sign_ok a (/ x).
Proof.
  intros [] x A; simpl in *; try easy.
  - now apply Rinv_neq_0_compat.
  - destruct A as [A | <-]; [left; now apply Rinv_0_lt_compat|rewrite Rinv_0; lra].
  - now apply Rinv_0_lt_compat.
Qed.
Lemma even_pow : forall x k, Nat.even k = true -> 0 <= x ^ k.
Proof.
  intros x k H. apply Nat.even_spec in H. destruct H as [j ->]. rewrite pow_mult.
  apply pow_le. simpl. rewrite Rmult_1_r. apply Rle_0_sqr.
Qed.
Lemma of_pow_ok : forall a x k, sign_ok a x -> sign_ok (of_pow a k) (x ^ k).
Proof.
  intros a x k A. unfold of_pow. destruct k as [|k]; [simpl; lra|].
  destruct (Nat.even (S k)) eqn:V.
  - destruct (is_nz a) eqn:Z; simpl sign_ok.
    + pose proof (even_pow x (S k) V). pose proof (is_nz_ok _ _ Z A).
      pose proof (pow_nonzero x (S k) H0). destruct H as [H|H]; [easy|]. now rewrite <- H in H1.
    + exact (even_pow x (S k) V).
  - destruct a; unfold sign_ok in *;
      [easy|exact (pow_nonzero x (S k) A)|exact (pow_le x (S k) A)|exact (pow_lt x (S k) A)].
Qed.
Lemma of_num_ok : forall p q, sign_ok (of_num p) (number p q).
Proof.
  intros p q. rewrite number_Q2R. unfold Q2R. simpl.
  assert (0 < / IZR (Zpos q)) as H by (apply Rinv_0_lt_compat, IZR_lt; lia).
  destruct p; simpl.
  - lra.
  - apply Rmult_lt_0_compat; [apply IZR_lt; lia|easy].
  - apply Rmult_integral_contrapositive_currified; [|lra].
    apply not_0_IZR. lia.
Qed.
Lemma of_fn_ok : forall f a x, sign_ok a x -> sign_ok (of_fn f a) (apply_fn f x).
Proof.
  intros [] a x A; simpl; try easy.
  - apply exp_pos.
  - destruct (is_pos a) eqn:P; simpl; [apply sqrt_lt_R0; now apply (is_pos_ok a)|apply sqrt_pos].
  - destruct (is_nz a) eqn:P; simpl; [apply Rabs_pos_lt; now apply (is_nz_ok a)|apply Rabs_pos].
  - destruct (is_nn a) eqn:P; simpl; [|easy]. apply (is_nn_ok a x) in P; [|easy].
    destruct (Rlt_le_dec (floor x) 0) as [L|L]; [|easy].
    apply int_gap in L; [|apply floor_is_int|apply int_0]. pose proof (floor_bounds x). lra.
Qed.
Lemma of_max_ok : forall a b x y, sign_ok a x -> sign_ok b y -> sign_ok (of_max a b) (Rmax x y).
Proof.
  intros [] [] x y A B; simpl in *; try easy; unfold Rmax; destruct Rle_dec; lra.
Qed.
Lemma of_min_ok : forall a b x y, sign_ok a x -> sign_ok b y -> sign_ok (of_min a b) (Rmin x y).
Proof.
  intros [] [] x y A B; simpl in *; try easy; unfold Rmin; destruct Rle_dec; lra.
Qed.

Lemma nth_entry : forall c w e i, okc c w e ->
  match nth i c CAny with CAny => True | _ => exists v, e i w [] = v /\ is_nat v end.
Proof.
  induction c as [|x c IH]; intros w e i O; [now destruct i|].
  simpl in O. destruct O as [O X]. destruct i as [|i]; simpl.
  - destruct x; [| |easy].
    + destruct X as (v & -> & I & L & _). exists v. repeat split; easy.
    + destruct X as (v & -> & V). now exists v.
  - apply (IH w (fun k => e (S k)) i O).
Qed.

Lemma power_pos : forall x y, 0 < x -> 0 < power x y.
Proof.
  intros x y H. unfold power. destruct Req_EM_T.
  - now apply powerRZ_lt.
  - destruct Rlt_dec; [apply exp_pos|easy].
Qed.

Lemma sgn_ok : forall K, known_ok K -> forall t c w e, okc c w e ->
  sign_ok (sgn K c t) (tv t w e).
Proof.
  intros K HK. induction t; intros c w e O; simpl sgn; (apply both_ok; [now apply look_ok|]);
    unfold Poly.tv in *; simpl; try easy.
  - apply of_num_ok.
  - apply PI_RGT_0.
  - destruct k; simpl; try easy.
    + destruct nat_dec as [[_ H]|]; [easy|lra].
    + destruct size_dec as [[_ H]|]; lra.
    + destruct (is_pos (sgn K [] t)) eqn:P; simpl; [|easy].
      destruct index_dec as [(_ & H & _)|]; [easy|lra].
  - pose proof (nth_entry c w e i O) as H. destruct (nth i c CAny); simpl; try easy;
      destruct H as (v & -> & _ & V); easy.
  - apply of_add_ok; auto.
  - apply of_mul_ok; auto.
  - apply of_opp_ok; auto.
  - apply of_inv_ok; auto.
  - apply of_pow_ok; auto.
  - apply of_fn_ok; auto.
  - apply of_max_ok; auto.
  - apply of_min_ok; auto.
  - destruct (is_pos (sgn K c t1)) eqn:P; simpl; [|easy]. apply power_pos.
    apply (is_pos_ok _ _ P). auto.
  - destruct (delta_01 (eval E w0 fe t1 w e []) (eval E w0 fe t2 w e [])) as [-> | ->]; lra.
  - unfold of_sum. destruct (is_pos (sgn K (CIdx t1 :: c) t2) && is_pos (sgn K c t1)) eqn:P;
      [|destruct (is_nn (sgn K (CIdx t1 :: c) t2)) eqn:Q]; simpl; [| |easy].
    + apply andb_true_iff in P. destruct P as [P1 P2]. apply Sum_pos.
      * apply (is_pos_ok _ _ P2). auto.
      * intros i Hi. apply (is_pos_ok _ _ P1). apply IHt2. now apply okc_idx.
    + apply Sum_nonneg. intros i Hi. apply (is_nn_ok _ _ Q). apply IHt2. now apply okc_idx.
  - destruct (is_pos (sgn K (CIdx t1 :: c) t2)) eqn:P; simpl; [|easy]. apply Product_pos.
    intros i Hi. apply (is_pos_ok _ _ P). apply IHt2. now apply okc_idx.
Qed.

Lemma number_int : forall p q, Z.eqb (Z.modulo p (Zpos q)) 0 = true -> is_int (number p q).
Proof.
  intros p q H. apply Z.eqb_eq in H. apply Z.mod_divide in H; [|easy]. destruct H as [k ->].
  exists k. rewrite number_Q2R. unfold Q2R. simpl. rewrite mult_IZR. field.
  apply not_0_IZR. easy.
Qed.

Lemma int_Sum : forall n f, (forall i, is_index n i -> is_int (f i)) -> is_int (Sum n f).
Proof.
  intros n f H. unfold Sum.
  assert (forall k, (k <= count n)%nat -> is_int (sum_to k f)); [|auto].
  induction k as [|k IH]; intros L; simpl; [apply int_0|].
  apply int_plus; [apply IH; lia|now apply H, INR_index].
Qed.

Lemma intt_ok : forall K, known_ok K -> forall t c w e, okc c w e -> intt K c t = true ->
  is_int (tv t w e).
Proof.
  intros K HK. induction t; intros c w e O H; simpl intt in H;
    (apply orb_true_iff in H; destruct H as [H|H]; [now apply (memb_ok K)|]);
    unfold Poly.tv in *; simpl; try discriminate;
    repeat match goal with K : _ && _ = true |- _ => apply andb_true_iff in K; destruct K end.
  - now apply number_int.
  - destruct k; simpl; try discriminate; [destruct int_dec|destruct nat_dec as [[]|]
      |destruct size_dec as [[]|]|destruct index_dec as [[]|]];
      try easy; try apply int_0; apply int_IZR.
  - pose proof (nth_entry c w e i O) as V. destruct (nth i c CAny); try easy;
      destruct V as (v & -> & V & _); easy.
  - apply int_plus; eauto.
  - apply int_mult; eauto.
  - apply int_opp; eauto.
  - apply int_pow; eauto.
  - destruct f; try discriminate; simpl.
    + unfold Rabs. destruct Rcase_abs; [apply int_opp|]; eauto.
    + apply floor_is_int.
  - unfold Rmax. destruct Rle_dec; eauto.
  - unfold Rmin. destruct Rle_dec; eauto.
  - apply delta_int.
  - apply int_Sum. intros i Hi. apply (IHt2 (CIdx t1 :: c)); [now apply okc_idx|easy].
Qed.

Lemma fprod_int : forall K, known_ok K -> forall fs c w e, okc c w e ->
  forallb (fun tk => intt K c (fst tk)) fs = true -> is_int (fprod E w0 fe fs w e).
Proof.
  intros K HK. induction fs as [|[t k] fs IH]; intros c w e O H; simpl in *; [apply int_IZR|].
  apply andb_true_iff in H. destruct H as [H1 H2]. apply int_mult; [|now apply (IH c)].
  apply int_pow. now apply (intt_ok K HK t c).
Qed.

Lemma msum_int : forall ss c w e G, okc c w e ->
  (forall e', okc (ext c ss) w e' -> is_int (G e')) -> is_int (msum E w0 fe ss w e G).
Proof.
  induction ss as [|n r IH]; intros c w e G O H; simpl in *; [now apply H|].
  apply int_Sum. intros i Hi. apply (IH (CIdx n :: c)); [now apply okc_idx|easy].
Qed.

Lemma intm_ok : forall K, known_ok K -> forall m c w e, okc c w e -> intm K c m = true ->
  is_int (meval E w0 fe m w e).
Proof.
  intros K HK [ss fs] c w e O H. unfold intm in H. simpl in H. apply orb_true_iff in H.
  destruct H as [H|H].
  - apply (memb_ok K _ w e HK) in H. rewrite tv_mono, Q2R_one, Rmult_1_l in H. exact H.
  - apply (msum_int ss c); [easy|]. intros e' O'. now apply (fprod_int K HK fs (ext c ss)).
Qed.

Lemma q_int_ok : forall q, q_int q = true -> is_int (Q2R q).
Proof. intros [p q] H. rewrite <- number_Q2R. now apply number_int. Qed.

Lemma intp_ok : forall K, known_ok K -> forall p c w e, okc c w e -> intp K c p = true ->
  is_int (peval E w0 fe p w e).
Proof.
  intros K HK p c w e O H. unfold intp in H. apply orb_true_iff in H. destruct H as [H|H].
  - apply (memb_ok K _ w e HK) in H. now rewrite tv_to_tm in H.
  - induction p as [|[q m] p IH]; simpl in *; [apply int_0|].
    rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3]. apply int_plus; [|auto].
    apply int_mult; [now apply q_int_ok|now apply (intm_ok K HK m c)].
Qed.
End Meaning.
