(** Integers, finite sums and products, deltas: what the verified checker uses of them. *)
Require Import ZArith Lia Lra FunctionalExtensionality.
From Derive Require Import Prelude.
Open Scope R_scope.

Lemma Int_part_IZR : forall k, Int_part (IZR k) = k.
Proof.
  intros k. unfold Int_part. assert (up (IZR k) = (k + 1)%Z); [|lia].
  symmetry. apply tech_up; rewrite plus_IZR; lra.
Qed.

Lemma floor_int : forall x, is_int x -> floor x = x.
Proof. intros x [k ->]. unfold floor. now rewrite Int_part_IZR. Qed.

Lemma floor_is_int : forall x, is_int (floor x).
Proof. intros x. now exists (Int_part x). Qed.

Lemma floor_bounds : forall x, floor x <= x < floor x + 1.
Proof. intros x. unfold floor. pose proof (base_Int_part x). lra. Qed.

Lemma IZR_lt_le1 : forall a b, IZR a < IZR b -> IZR a + 1 <= IZR b.
Proof. intros a b H. apply lt_IZR in H. rewrite <- plus_IZR. apply IZR_le. lia. Qed.

Lemma int_gap : forall x y, is_int x -> is_int y -> x < y -> x + 1 <= y.
Proof. intros x y [a ->] [b ->]. apply IZR_lt_le1. Qed.

Lemma floor_unique : forall x k, is_int k -> k <= x < k + 1 -> floor x = k.
Proof.
  intros x k Hk [H1 H2]. pose proof (floor_bounds x) as [F1 F2].
  pose proof (floor_is_int x) as F.
  destruct (Rtotal_order (floor x) k) as [L|[L|L]]; [| easy |].
  - apply int_gap in L; try easy. lra.
  - apply int_gap in L; try easy. lra.
Qed.

Lemma int_0 : is_int 0. Proof. now exists 0%Z. Qed.
Lemma int_IZR : forall k, is_int (IZR k). Proof. intros k; now exists k. Qed.
Lemma int_INR : forall k, is_int (INR k).
Proof. intros k. exists (Z.of_nat k). now rewrite INR_IZR_INZ. Qed.
Lemma int_plus : forall x y, is_int x -> is_int y -> is_int (x + y).
Proof. intros x y [a ->] [b ->]. exists (a + b)%Z. now rewrite plus_IZR. Qed.
Lemma int_mult : forall x y, is_int x -> is_int y -> is_int (x * y).
Proof. intros x y [a ->] [b ->]. exists (a * b)%Z. now rewrite mult_IZR. Qed.
Lemma int_opp : forall x, is_int x -> is_int (- x).
Proof. intros x [a ->]. exists (- a)%Z. now rewrite opp_IZR. Qed.
Lemma int_minus : forall x y, is_int x -> is_int y -> is_int (x - y).
Proof. intros x y Hx Hy. apply int_plus; [easy|now apply int_opp]. Qed.
Lemma int_pow : forall x k, is_int x -> is_int (x ^ k).
Proof. intros x k H. induction k; simpl; [now exists 1%Z|now apply int_mult]. Qed.

(** Decidable ranges *)
Definition int_dec (x : R) : {is_int x} + {~ is_int x}.
Proof.
  destruct (Req_EM_T (floor x) x) as [H|H]; [left|right].
  - rewrite <- H. apply floor_is_int.
  - intros K. now apply H, floor_int.
Defined.

Definition index_dec (n i : R) : {is_index n i} + {~ is_index n i}.
Proof.
  unfold is_index. destruct (int_dec i); [|right; tauto].
  destruct (Rle_dec 0 i); [|right; tauto]. destruct (Rlt_dec i n); [left|right]; tauto.
Defined.

Lemma vector_in : forall n f i, is_index n i -> vector n f i = f i.
Proof.
  intros n f i [H [H0 H1]]. unfold vector. pose proof (floor_int i H).
  destruct Req_EM_T; [|easy]. destruct Rle_dec; [|easy]. now destruct Rlt_dec.
Qed.

Lemma vector_out : forall n f i, ~ is_index n i -> vector n f i = 0.
Proof.
  intros n f i H. unfold vector. destruct Req_EM_T as [E|]; [|easy].
  destruct Rle_dec; [|easy]. destruct Rlt_dec; [|easy].
  destruct H. split; [|easy]. rewrite <- E. apply floor_is_int.
Qed.

Lemma vector_ext : forall n f g, (forall i, is_index n i -> f i = g i) -> vector n f = vector n g.
Proof.
  intros n f g H. apply functional_extensionality. intros i.
  destruct (index_dec n i); [rewrite !vector_in by easy; auto | now rewrite !vector_out].
Qed.

(** The natural numbers below n are the indices. *)
Lemma count_index : forall n k, (k < count n)%nat <-> INR k < n.
Proof.
  intros n k. unfold count. pose proof (base_Int_part (- n)) as [H1 H2].
  set (z := Int_part (- n)) in *. rewrite INR_IZR_INZ. split; intros H.
  - assert (IZR (Z.of_nat k) + 1 <= IZR (- z)) by (rewrite <- plus_IZR; apply IZR_le; lia).
    rewrite opp_IZR in H0. lra.
  - assert (IZR (Z.of_nat k) < IZR (- z)) by (rewrite opp_IZR; lra).
    apply lt_IZR in H0. lia.
Qed.

Lemma INR_index : forall n k, (k < count n)%nat -> is_index n (INR k).
Proof.
  intros n k H. split; [apply int_INR|]. split; [apply pos_INR|]. now apply count_index.
Qed.

Lemma index_INR : forall n i, is_index n i -> exists k, (k < count n)%nat /\ i = INR k.
Proof.
  intros n i [[z ->] [H0 H1]]. exists (Z.to_nat z).
  assert (0 <= z)%Z by (now apply le_IZR).
  assert (INR (Z.to_nat z) = IZR z) by (rewrite INR_IZR_INZ, Z2Nat.id; easy).
  split; [apply count_index|]; lra.
Qed.

Lemma count_nat : forall n, is_nat n -> INR (count n) = n.
Proof.
  intros n [[z ->] H]. unfold count. rewrite <- opp_IZR, Int_part_IZR, Z.opp_involutive.
  rewrite INR_IZR_INZ, Z2Nat.id; [easy|]. now apply le_IZR.
Qed.

Lemma count_INR : forall k, count (INR k) = k.
Proof. intros k. apply INR_eq. apply count_nat. split; [apply int_INR|apply pos_INR]. Qed.

Lemma count_neg : forall n, n <= 0 -> count n = O.
Proof.
  intros n H. destruct (count n) eqn:E; [easy|].
  assert (0 < count n)%nat by lia. apply count_index in H0. simpl in H0. lra.
Qed.

Lemma sum_to_ext : forall k f g, (forall i, (i < k)%nat -> f (INR i) = g (INR i)) ->
  sum_to k f = sum_to k g.
Proof. induction k; intros f g H; simpl; [easy|]. rewrite (IHk f g), (H k); auto. Qed.

Lemma Sum_ext : forall n f g, (forall i, is_index n i -> f i = g i) -> Sum n f = Sum n g.
Proof. intros n f g H. apply sum_to_ext. intros i Hi. now apply H, INR_index. Qed.

Lemma product_to_ext : forall k f g, (forall i, (i < k)%nat -> f (INR i) = g (INR i)) ->
  product_to k f = product_to k g.
Proof. induction k; intros f g H; simpl; [easy|]. rewrite (IHk f g), (H k); auto. Qed.

Lemma Product_ext : forall n f g, (forall i, is_index n i -> f i = g i) ->
  Product n f = Product n g.
Proof. intros n f g H. apply product_to_ext. intros i Hi. now apply H, INR_index. Qed.

Lemma Sum_0 : forall n, Sum n (fun _ => 0) = 0.
Proof. intros n. unfold Sum. induction (count n); simpl; lra. Qed.

Lemma Sum_plus : forall n f g, Sum n (fun i => f i + g i) = Sum n f + Sum n g.
Proof. intros n f g. unfold Sum. induction (count n); simpl; lra. Qed.

Lemma Sum_scal : forall n c f, Sum n (fun i => c * f i) = c * Sum n f.
Proof. intros n c f. unfold Sum. induction (count n) as [|k IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma Sum_scal_r : forall n c f, Sum n (fun i => f i * c) = Sum n f * c.
Proof. intros n c f. unfold Sum. induction (count n) as [|k IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma Sum_const : forall n c, Sum n (fun _ => c) = INR (count n) * c.
Proof.
  intros n c. unfold Sum. induction (count n) as [|k IH]; [simpl; ring|].
  rewrite S_INR. simpl sum_to. rewrite IH. ring.
Qed.

Lemma sum_to_swap : forall k l f,
  sum_to k (fun i => sum_to l (f i)) = sum_to l (fun j => sum_to k (fun i => f i j)).
Proof.
  induction k as [|k IH]; intros l f; simpl.
  - induction l as [|l IHl]; simpl; lra.
  - rewrite IH. induction l as [|l IHl]; simpl; [lra|]. rewrite <- IHl. lra.
Qed.

Lemma Sum_swap : forall n m f,
  Sum n (fun i => Sum m (f i)) = Sum m (fun j => Sum n (fun i => f i j)).
Proof. intros n m f. apply sum_to_swap. Qed.

Lemma Sum_nonneg : forall n f, (forall i, is_index n i -> 0 <= f i) -> 0 <= Sum n f.
Proof.
  intros n f H. unfold Sum.
  assert (forall k, (k <= count n)%nat -> 0 <= sum_to k f); [|auto].
  induction k as [|k IH]; intros L; simpl; [lra|].
  specialize (IH ltac:(lia)). specialize (H (INR k) (INR_index n k L)). lra.
Qed.

Lemma Sum_pos : forall n f, 0 < n -> (forall i, is_index n i -> 0 < f i) -> 0 < Sum n f.
Proof.
  intros n f Hn H. unfold Sum.
  assert (0 < count n)%nat by (apply count_index; simpl; lra).
  assert (forall k, (0 < k <= count n)%nat -> 0 < sum_to k f); [|auto with arith].
  induction k as [|k IH]; intros L; [lia|]. simpl.
  specialize (H (INR k) (INR_index n k ltac:(lia))).
  destruct k; simpl in *; [lra|]. specialize (IH ltac:(lia)). lra.
Qed.

Lemma Sum_le : forall n f g, (forall i, is_index n i -> f i <= g i) -> Sum n f <= Sum n g.
Proof.
  intros n f g H. assert (0 <= Sum n (fun i => g i + (-1) * f i)) as K.
  { apply Sum_nonneg. intros i Hi. specialize (H i Hi). lra. }
  rewrite Sum_plus, Sum_scal in K. lra.
Qed.

Lemma Product_pos : forall n f, (forall i, is_index n i -> 0 < f i) -> 0 < Product n f.
Proof.
  intros n f H. unfold Product.
  assert (forall k, (k <= count n)%nat -> 0 < product_to k f); [|auto].
  induction k as [|k IH]; intros L; simpl; [lra|].
  apply Rmult_lt_0_compat; [apply IH; lia|now apply H, INR_index].
Qed.

Lemma Sum_delta : forall n k f, is_index n k -> Sum n (fun i => delta i k * f i) = f k.
Proof.
  intros n k f Hk. destruct (index_INR n k Hk) as [j [Hj ->]]. unfold Sum.
  assert (forall l, sum_to l (fun i => delta i (INR j) * f i)
                    = if lt_dec j l then f (INR j) else 0) as H.
  { induction l as [|l IH]; simpl; [easy|]. rewrite IH. unfold delta.
    destruct (Req_EM_T (INR l) (INR j)) as [E|E].
    - apply INR_eq in E. subst. destruct (lt_dec j j); [lia|]. destruct (lt_dec j (S j)); [lra|lia].
    - destruct (lt_dec j l), (lt_dec j (S l)); try lia; try lra.
      assert (j = l) by lia. subst. easy. }
  rewrite H. destruct lt_dec; [easy|lia].
Qed.

Lemma delta_eq : forall x, delta x x = 1.
Proof. intros x. unfold delta. now destruct Req_EM_T. Qed.
Lemma delta_neq : forall x y, x <> y -> delta x y = 0.
Proof. intros x y H. unfold delta. now destruct Req_EM_T. Qed.
Lemma delta_01 : forall x y, delta x y = 0 \/ delta x y = 1.
Proof. intros x y. unfold delta. destruct Req_EM_T; auto. Qed.
Lemma delta_iff : forall x y a b, (x = y <-> a = b) -> delta x y = delta a b.
Proof. intros x y a b H. unfold delta. destruct (Req_EM_T x y), (Req_EM_T a b); tauto. Qed.
Lemma delta_int : forall x y, is_int (delta x y).
Proof. intros x y. destruct (delta_01 x y) as [-> | ->]; apply int_IZR. Qed.

(** n terms and one more; m blocks of n terms *)
Lemma Sum_last : forall n f, is_nat n -> Sum (n + 1) f = Sum n f + f n.
Proof.
  intros n f H. unfold Sum. replace (count (n + 1)) with (S (count n)).
  - simpl. now rewrite count_nat.
  - apply INR_eq. rewrite S_INR, !count_nat; [easy| |easy].
    destruct H as [H H']. split; [apply int_plus; [easy|now exists 1%Z]|lra].
Qed.

Lemma Product_last : forall n f, is_nat n -> Product (n + 1) f = Product n f * f n.
Proof.
  intros n f H. unfold Product. replace (count (n + 1)) with (S (count n)).
  - simpl. now rewrite count_nat.
  - apply INR_eq. rewrite S_INR, !count_nat; [easy| |easy].
    destruct H as [H H']. split; [apply int_plus; [easy|now exists 1%Z]|lra].
Qed.

Lemma sum_to_plus : forall a b f,
  sum_to (a + b) f = sum_to a f + sum_to b (fun c => f (INR a + c)).
Proof.
  intros a b f. induction b as [|b IH].
  - rewrite Nat.add_0_r. simpl. lra.
  - rewrite Nat.add_succ_r. simpl. rewrite IH, plus_INR. lra.
Qed.

Lemma sum_to_block : forall a b f,
  sum_to (a * b) f = sum_to a (fun i => sum_to b (fun c => f (i * INR b + c))).
Proof.
  induction a as [|a IH]; intros b f; [easy|].
  replace (S a * b)%nat with (a * b + b)%nat by lia.
  rewrite sum_to_plus, IH, mult_INR. easy.
Qed.

Lemma nat_mult : forall x y, is_nat x -> is_nat y -> is_nat (x * y).
Proof.
  intros x y [H1 H2] [H3 H4]. split; [now apply int_mult|now apply Rmult_le_pos].
Qed.

Lemma count_mult : forall m n, is_nat m -> is_nat n -> count (m * n) = (count m * count n)%nat.
Proof.
  intros m n Hm Hn. apply INR_eq. rewrite mult_INR, !count_nat; auto. now apply nat_mult.
Qed.

Lemma Sum_block : forall m n f, is_nat m -> is_nat n ->
  Sum (m * n) f = Sum m (fun i => Sum n (fun c => f (i * n + c))).
Proof.
  intros m n f Hm Hn. unfold Sum. rewrite count_mult, sum_to_block by easy.
  now rewrite (count_nat n).
Qed.
