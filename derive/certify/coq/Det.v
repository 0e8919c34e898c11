(** The determinant by its first row is multiplicative, and that of the transpose is the same.

    It is linear in each column and changes its sign where two neighbours are exchanged.  So
    det (A o p) = det A det (I o p) for every choice p of columns: sort p by exchanges.  Columns of
    A B, written out one after the other, give det (A B) = det A det B. *)
Require Import Reals ZArith Arith Lia Lra FunctionalExtensionality.
From Derive Require Import Prelude Sums.
Open Scope R_scope.

Fixpoint total (k : nat) (f : nat -> R) : R :=
  match k with O => 0 | S m => total m f + f m end.
Definition matrix := nat -> nat -> R.
Definition skip (j c : nat) : nat := if Nat.ltb c j then c else S c.
Definition minor (j : nat) (A : matrix) : matrix := fun r c => A (S r) (skip j c).
Fixpoint D (n : nat) (A : matrix) : R :=
  match n with
  | O => 1
  | S m => total n (fun j => (-1) ^ j * A O j * D m (minor j A))
  end.
Definition I (i j : nat) : R := if Nat.eqb i j then 1 else 0.

Lemma D_S : forall m A, D (S m) A = total (S m) (fun j => (-1) ^ j * A O j * D m (minor j A)).
Proof. reflexivity. Qed.

(** ** Sums *)
Lemma total_ext : forall k f g, (forall i, (i < k)%nat -> f i = g i) -> total k f = total k g.
Proof. induction k; intros f g H; simpl; [easy|]. rewrite (IHk f g), (H k); auto. Qed.
Lemma total_0 : forall k, total k (fun _ => 0) = 0.
Proof. induction k as [|k IH]; simpl; [easy|]. rewrite IH. ring. Qed.
Lemma total_plus : forall k f g, total k (fun i => f i + g i) = total k f + total k g.
Proof. induction k as [|k IH]; intros f g; simpl; [ring|]. rewrite IH. ring. Qed.
Lemma total_scal : forall k c f, total k (fun i => c * f i) = c * total k f.
Proof. induction k as [|k IH]; intros c f; simpl; [ring|]. rewrite IH. ring. Qed.
Lemma total_swap : forall k l f,
  total k (fun i => total l (f i)) = total l (fun j => total k (fun i => f i j)).
Proof.
  induction k as [|k IH]; intros l f; simpl; [now rewrite total_0|]. rewrite IH. symmetry.
  apply total_plus.
Qed.
Lemma total_first : forall k f, total (S k) f = f O + total k (fun i => f (S i)).
Proof.
  induction k as [|k IH]; intros f; [simpl; ring|]. change (total (S (S k)) f) with
    (total (S k) f + f (S k)). rewrite IH. simpl. ring.
Qed.
Lemma total_I : forall k i f, (i < k)%nat -> total k (fun j => I i j * f j) = f i.
Proof.
  induction k as [|k IH]; intros i f H; [lia|]. simpl. destruct (Nat.eq_dec i k) as [->|N].
  - unfold I at 2. rewrite Nat.eqb_refl.
    rewrite (total_ext k _ (fun _ => 0)), total_0; [ring|]. intros j J. unfold I.
    replace (Nat.eqb k j) with false by (symmetry; apply Nat.eqb_neq; lia). ring.
  - rewrite IH by lia. unfold I. apply Nat.eqb_neq in N. rewrite N. ring.
Qed.

(** ** Exchange of neighbours *)
Definition sw (c j : nat) : nat := if Nat.eqb j c then S c else if Nat.eqb j (S c) then c else j.

Ltac plain a := lazymatch a with context [if _ then _ else _] => fail | _ => idtac end.
Ltac cases :=
  unfold sw, skip, I in *;
  repeat match goal with
  | |- context [Nat.eqb ?a ?b] => plain a; plain b; destruct (Nat.eqb_spec a b)
  | |- context [Nat.ltb ?a ?b] => plain a; plain b; destruct (Nat.ltb_spec a b)
  end.
Tactic Notation "by_cases" := cases; try (exfalso; lia); try lia; try (f_equal; lia); auto.

Lemma sw_lt : forall c n j, (S c < n)%nat -> (j < n)%nat -> (sw c j < n)%nat.
Proof. intros c n j H J. by_cases. Qed.
Lemma total_sw : forall n c f, (S c < n)%nat -> total n (fun j => f (sw c j)) = total n f.
Proof.
  induction n as [|m IH]; intros c f H; [lia|]. simpl. destruct (Nat.eq_dec m (S c)) as [->|N].
  - simpl. rewrite (total_ext c (fun j => f (sw c j)) f) by (intros; f_equal; by_cases).
    replace (sw c c) with (S c) by by_cases. replace (sw c (S c)) with c by by_cases. ring.
  - rewrite IH by lia. now replace (sw c m) with m by by_cases.
Qed.

(** ** Columns *)
Lemma skip_lt : forall j c m, (j <= m)%nat -> (c < m)%nat -> (skip j c < S m)%nat.
Proof. intros j c m J C. by_cases. Qed.

Lemma D_ext : forall n A B, (forall i j, (i < n)%nat -> (j < n)%nat -> A i j = B i j) ->
  D n A = D n B.
Proof.
  induction n as [|m IH]; intros A B H; [easy|]. rewrite !D_S. apply total_ext. intros j J.
  rewrite (H O j), (IH (minor j A) (minor j B)); [easy| |lia|easy].
  intros r c R0 C. apply H; [lia|]. apply skip_lt; lia.
Qed.

Definition put (A : matrix) (c : nat) (u : nat -> R) : matrix :=
  fun i j => if Nat.eqb j c then u i else A i j.
Definition unskip (j c : nat) : nat := if Nat.ltb c j then c else pred c.

Lemma D_put : forall m A j c u, j <> c ->
  D m (minor j (put A c u)) = D m (put (minor j A) (unskip j c) (fun i => u (S i))).
Proof. intros m A j c u N. apply D_ext. intros r x _ _. unfold minor, put, unskip. by_cases. Qed.
Lemma D_put_same : forall m A c u, D m (minor c (put A c u)) = D m (minor c A).
Proof. intros m A c u. apply D_ext. intros r x _ _. unfold minor, put. by_cases. Qed.

Lemma D_linear : forall n A c k b v, (c < n)%nat ->
  D n (put A c (fun i => total k (fun l => b l * v l i)))
  = total k (fun l => b l * D n (put A c (v l))).
Proof.
  induction n as [|m IH]; intros A c k b v C; [lia|]. rewrite D_S.
  transitivity (total k (fun l => total (S m) (fun j =>
    b l * ((-1) ^ j * put A c (v l) O j * D m (minor j (put A c (v l))))))).
  - rewrite total_swap. apply total_ext. intros j J. destruct (Nat.eq_dec j c) as [->|N].
    + rewrite D_put_same. unfold put at 1. rewrite Nat.eqb_refl.
      transitivity ((-1) ^ c * D m (minor c A) * total k (fun l => b l * v l O)); [ring|].
      rewrite <- total_scal. apply total_ext. intros l _.
      rewrite D_put_same. unfold put. rewrite Nat.eqb_refl. ring.
    + rewrite D_put by easy. rewrite (IH (minor j A) (unskip j c) k b (fun l i => v l (S i)))
        by (unfold unskip; by_cases).
      assert (forall u, put A c u O j = A O j) as P
        by (intros u; unfold put; apply Nat.eqb_neq in N; now rewrite N).
      rewrite P, <- total_scal. apply total_ext. intros l _.
      rewrite P, D_put by easy. ring.
  - apply total_ext. intros l _. now rewrite total_scal.
Qed.

Lemma D_swap : forall n A c, (S c < n)%nat -> D n (fun i j => A i (sw c j)) = - D n A.
Proof.
  induction n as [|m IH]; intros A c C; [lia|]. rewrite !D_S.
  set (term := fun j => (-1) ^ j * A O j * D m (minor j A)).
  transitivity (total (S m) (fun j => -1 * term (sw c j))).
  - apply total_ext. intros j J. unfold term.
    destruct (Nat.eq_dec j c) as [->|N]; [|destruct (Nat.eq_dec j (S c)) as [->|N']].
    + replace (sw c c) with (S c) by by_cases.
      rewrite (D_ext m (minor c _) (minor (S c) A)); [simpl; ring|].
      intros r x _ _. unfold minor. by_cases.
    + replace (sw c (S c)) with c by by_cases.
      rewrite (D_ext m (minor (S c) _) (minor c A)); [simpl; ring|].
      intros r x _ _. unfold minor. by_cases.
    + replace (sw c j) with j by by_cases.
      rewrite (D_ext m (minor j _) (fun i x => minor j A i (sw (unskip j c) x))).
      * rewrite IH; [ring|]. unfold unskip. by_cases.
      * intros r x _ _. unfold minor, unskip. by_cases.
  - rewrite total_scal, (total_sw (S m) c term) by easy. ring.
Qed.

Lemma D_equal : forall n A c, (S c < n)%nat ->
  (forall i, (i < n)%nat -> A i c = A i (S c)) -> D n A = 0.
Proof.
  intros n A c C H. pose proof (D_swap n A c C) as S0.
  rewrite (D_ext n (fun i j => A i (sw c j)) A) in S0; [lra|].
  intros i j L _. specialize (H i L). unfold sw.
  destruct (Nat.eqb_spec j c) as [->|]; [easy|]. now destruct (Nat.eqb_spec j (S c)) as [->|].
Qed.

Lemma D_identity : forall n, D n I = 1.
Proof.
  induction n as [|m IH]; [easy|]. rewrite D_S, total_first.
  rewrite (total_ext m _ (fun _ => 0)), total_0 by (intros; cbn [I Nat.eqb]; unfold I; simpl; ring).
  rewrite (D_ext m (minor 0 I) I), IH by (intros; unfold minor; by_cases).
  unfold I. simpl. ring.
Qed.

(** ** Sorting *)
Fixpoint weight (n k : nat) (p : nat -> nat) : nat :=
  match k with O => O | S m => weight n m p + (n - m) * p m end.
Lemma weight_ext : forall n k p q, (forall i, (i < k)%nat -> p i = q i) ->
  weight n k p = weight n k q.
Proof. induction k; intros p q H; simpl; [easy|]. rewrite (IHk p q), (H k); auto. Qed.
Lemma weight_sw : forall n p c k, (S c < k)%nat -> (k <= n)%nat ->
  (weight n k (fun i => p (sw c i)) + p c = weight n k p + p (S c))%nat.
Proof.
  intros n p c. induction k as [|m IH]; intros C L; [lia|]. simpl.
  destruct (Nat.eq_dec m (S c)) as [->|N].
  - simpl. rewrite (weight_ext n c _ p) by (intros; f_equal; by_cases).
    replace (sw c c) with (S c) by by_cases. replace (sw c (S c)) with c by by_cases.
    replace (n - c)%nat with (S (n - S c)) by lia. ring.
  - replace (sw c m) with m by by_cases. specialize (IH ltac:(lia) ltac:(lia)). lia.
Qed.

Lemma descent : forall n (p : nat -> nat),
  (exists j, (S j < n)%nat /\ (p (S j) <= p j)%nat) \/
  (forall j, (S j < n)%nat -> (p j < p (S j))%nat).
Proof.
  induction n as [|n IH]; intros p; [right; lia|].
  destruct (IH p) as [(j & J & H)|H]; [left; exists j; auto with arith|].
  destruct n as [|m]; [right; lia|]. destruct (le_lt_dec (p (S m)) (p m)) as [L|L].
  - left. exists m. auto with arith.
  - right. intros j J. destruct (Nat.eq_dec j m) as [->|N]; [easy|]. apply H. lia.
Qed.
Lemma increasing : forall n (p : nat -> nat), (forall j, (j < n)%nat -> (p j < n)%nat) ->
  (forall j, (S j < n)%nat -> (p j < p (S j))%nat) -> forall j, (j < n)%nat -> p j = j.
Proof.
  intros n p H M j J.
  assert (forall d k, (k + d < n)%nat -> (p k + d <= p (k + d))%nat) as A.
  { induction d as [|d IH]; intros k K; [rewrite !Nat.add_0_r; lia|].
    specialize (IH k ltac:(lia)). specialize (M (k + d)%nat ltac:(lia)).
    rewrite !Nat.add_succ_r. lia. }
  pose proof (A j O J). pose proof (A (n - 1 - j)%nat j ltac:(lia)) as B.
  replace (j + (n - 1 - j))%nat with (n - 1)%nat in B by lia.
  specialize (H (n - 1)%nat ltac:(lia)). simpl in *. lia.
Qed.

Lemma sorting : forall n (P : (nat -> nat) -> Prop),
  (forall p q, (forall j, (j < n)%nat -> p j = q j) -> P p -> P q) ->
  P (fun j => j) ->
  (forall p j, (S j < n)%nat -> p j = p (S j) -> P p) ->
  (forall p j, (S j < n)%nat -> P (fun i => p (sw j i)) -> P p) ->
  forall p, (forall j, (j < n)%nat -> (p j < n)%nat) -> P p.
Proof.
  intros n P Ext Id Eq Sw p. remember (weight n n p) as w eqn:W. revert p W.
  induction w as [w IH] using lt_wf_ind. intros p W H.
  destruct (descent n p) as [(j & J & L)|M].
  - destruct (Nat.eq_dec (p j) (p (S j))) as [Q|Q]; [now apply (Eq p j)|].
    apply (Sw p j J). pose proof (weight_sw n p j n J (le_n n)).
    apply (IH (weight n n (fun i => p (sw j i)))); [lia|easy|].
    intros i Li. apply H. now apply sw_lt.
  - apply (Ext (fun j => j)); [|easy]. intros j J. symmetry. now apply (increasing n).
Qed.

(** ** Products *)
Lemma D_choice : forall n A p, (forall j, (j < n)%nat -> (p j < n)%nat) ->
  D n (fun i j => A i (p j)) = D n A * D n (fun i j => I i (p j)).
Proof.
  intros n A. apply sorting.
  - intros p q Q H.
    rewrite (D_ext n (fun i j => A i (q j)) (fun i j => A i (p j))) by (intros; now rewrite Q).
    now rewrite (D_ext n (fun i j => I i (q j)) (fun i j => I i (p j))) by (intros; now rewrite Q).
  - change (fun i j => A i j) with A. change (fun i j => I i j) with I. rewrite D_identity. ring.
  - intros p j J Q.
    rewrite (D_equal n (fun i j => A i (p j)) j), (D_equal n (fun i j => I i (p j)) j);
      [ring|easy|intros; now rewrite Q|easy|intros; now rewrite Q].
  - intros p j J H. rewrite (D_swap n (fun i j => A i (p j)) j) in H by easy.
    rewrite (D_swap n (fun i j => I i (p j)) j) in H by easy. lra.
Qed.

(** The first k columns chosen from A, the others those of A B *)
Definition mixed (n k : nat) (A B : matrix) (p : nat -> nat) : matrix :=
  fun i j => if Nat.ltb j k then A i (p j) else total n (fun l => A i l * B l j).
Definition chosen (p : nat -> nat) (k l : nat) : nat -> nat :=
  fun j => if Nat.eqb j k then l else p j.

Lemma mixed_full : forall n A B p i j, (j < n)%nat -> mixed n n A B p i j = A i (p j).
Proof. intros n A B p i j J. unfold mixed. apply Nat.ltb_lt in J. now rewrite J. Qed.
Lemma mixed_column : forall n k A B p,
  mixed n k A B p = put (mixed n k A B p) k (fun i => total n (fun l => B l k * A i l)).
Proof.
  intros n k A B p. apply functional_extensionality. intros i. apply functional_extensionality.
  intros j. unfold put. destruct (Nat.eqb_spec j k) as [->|]; [|easy].
  unfold mixed. rewrite Nat.ltb_irrefl. apply total_ext. intros. ring.
Qed.
Lemma mixed_next : forall n k A B p l,
  put (mixed n k A B p) k (fun i => A i l) = mixed n (S k) A B (chosen p k l).
Proof.
  intros n k A B p l. apply functional_extensionality. intros i. apply functional_extensionality.
  intros j. unfold put, mixed, chosen. by_cases.
Qed.
Lemma chosen_lt : forall n p k l, (forall j, (j < n)%nat -> (p j < n)%nat) -> (l < n)%nat ->
  forall j, (j < n)%nat -> (chosen p k l j < n)%nat.
Proof. intros n p k l H L j J. unfold chosen. destruct Nat.eqb; auto. Qed.

Lemma D_mixed : forall n A B d k, (k + d = n)%nat ->
  forall p, (forall j, (j < n)%nat -> (p j < n)%nat) ->
  D n (mixed n k A B p) = D n A * D n (mixed n k I B p).
Proof.
  intros n A B. induction d as [|d IH]; intros k K p H.
  - replace k with n by lia.
    rewrite (D_ext n (mixed n n A B p) (fun i j => A i (p j))) by (intros; now apply mixed_full).
    rewrite (D_ext n (mixed n n I B p) (fun i j => I i (p j))) by (intros; now apply mixed_full).
    now apply D_choice.
  - rewrite (mixed_column n k A B p), (mixed_column n k I B p).
    rewrite (D_linear n (mixed n k A B p) k n (fun l => B l k) (fun l i => A i l)) by lia.
    rewrite (D_linear n (mixed n k I B p) k n (fun l => B l k) (fun l i => I i l)) by lia.
    rewrite <- total_scal. apply total_ext. intros l L.
    rewrite !mixed_next, (IH (S k) ltac:(lia) (chosen p k l)) by (now apply chosen_lt). ring.
Qed.

Lemma mixed_identity : forall n B p i j, (i < n)%nat -> mixed n 0 I B p i j = B i j.
Proof. intros n B p i j L. unfold mixed. simpl. now apply total_I with (f := fun l => B l j). Qed.

Lemma D_product : forall n A B,
  D n (fun i j => total n (fun l => A i l * B l j)) = D n A * D n B.
Proof.
  intros n A B. pose proof (D_mixed n A B n O eq_refl (fun j => j) (fun j J => J)) as H.
  now rewrite (D_ext n (mixed n 0 I B (fun j => j)) B) in H
    by (intros; now apply mixed_identity).
Qed.

(** ** Transposition *)
Lemma D_rows : forall n A c, (S c < n)%nat -> D n (fun i j => A (sw c i) j) = - D n A.
Proof.
  intros n A c C.
  rewrite (D_ext n _ (fun i j => total n (fun l => I (sw c i) l * A l j))).
  - rewrite (D_product n (fun i l => I (sw c i) l) A).
    rewrite (D_ext n (fun i l => I (sw c i) l) (fun i l => I i (sw c l)))
      by (intros; by_cases).
    rewrite (D_swap n I c) by easy. rewrite D_identity. ring.
  - intros i j L _. symmetry. apply (total_I n (sw c i) (fun l => A l j)). now apply sw_lt.
Qed.

Lemma D_turned : forall n p, (forall j, (j < n)%nat -> (p j < n)%nat) ->
  D n (fun i j => I j (p i)) = D n (fun i j => I i (p j)).
Proof.
  intros n. apply sorting.
  - intros p q Q H.
    rewrite (D_ext n (fun i j => I j (q i)) (fun i j => I j (p i))) by (intros; now rewrite Q).
    now rewrite (D_ext n (fun i j => I i (q j)) (fun i j => I i (p j))) by (intros; now rewrite Q).
  - apply D_ext. intros. by_cases.
  - intros p j J Q. rewrite (D_equal n (fun i j => I i (p j)) j) by (auto; intros; now rewrite Q).
    pose proof (D_rows n (fun i j => I j (p i)) j J) as S0. cbv beta in S0.
    rewrite (D_ext n (fun i x => I x (p (sw j i))) (fun i x => I x (p i))) in S0; [lra|].
    intros i x _ _. unfold sw. destruct (Nat.eqb_spec i j) as [->|]; [now rewrite Q|].
    destruct (Nat.eqb_spec i (S j)) as [->|]; [now rewrite Q|easy].
  - intros p j J H. rewrite (D_rows n (fun i j => I j (p i)) j) in H by easy.
    rewrite (D_swap n (fun i j => I i (p j)) j) in H by easy. lra.
Qed.

Definition turn (A : matrix) : matrix := fun i j => A j i.
Lemma D_row_linear : forall n A c k b v, (c < n)%nat ->
  D n (turn (put A c (fun i => total k (fun l => b l * v l i))))
  = total k (fun l => b l * D n (turn (put A c (v l)))).
Proof.
  induction n as [|m IH]; intros A c k b v C; [lia|]. rewrite D_S.
  transitivity (total k (fun l => total (S m) (fun j =>
    b l * ((-1) ^ j * turn (put A c (v l)) O j * D m (minor j (turn (put A c (v l)))))))).
  - rewrite total_swap. apply total_ext. intros j J. unfold turn at 1. destruct c as [|c].
    + assert (forall u, D m (minor j (turn (put A 0 u))) = D m (minor j (turn A))) as M
        by (intros u; apply D_ext; intros; reflexivity).
      rewrite M. unfold put at 1. simpl Nat.eqb. cbv iota.
      transitivity ((-1) ^ j * D m (minor j (turn A)) * total k (fun l => b l * v l j)); [ring|].
      rewrite <- total_scal. apply total_ext. intros l _. rewrite M. unfold turn, put. simpl. ring.
    + set (B := fun i r => A (skip j i) (S r) : R).
      assert (forall u, D m (minor j (turn (put A (S c) u)))
        = D m (turn (put B c (fun i => u (skip j i))))) as M
        by (intros u; apply D_ext; intros; reflexivity).
      rewrite M, (IH B c k b (fun l i => v l (skip j i))) by lia. unfold put at 1. simpl Nat.eqb.
      cbv iota. rewrite <- total_scal. apply total_ext. intros l _. rewrite M.
      unfold turn at 2, put at 2. simpl Nat.eqb. cbv iota. ring.
  - apply total_ext. intros l _. now rewrite total_scal.
Qed.

Lemma D_mixed_turned : forall n B d k, (k + d = n)%nat ->
  forall p, (forall j, (j < n)%nat -> (p j < n)%nat) ->
  D n (turn (mixed n k I B p)) = D n (mixed n k I B p).
Proof.
  intros n B. induction d as [|d IH]; intros k K p H.
  - replace k with n by lia.
    rewrite (D_ext n (turn _) (fun i j => I j (p i))) by (intros; unfold turn; now apply mixed_full).
    rewrite (D_ext n (mixed n n I B p) (fun i j => I i (p j))) by (intros; now apply mixed_full).
    now apply D_turned.
  - rewrite (mixed_column n k I B p).
    rewrite (D_linear n (mixed n k I B p) k n (fun l => B l k) (fun l i => I i l)) by lia.
    rewrite (D_row_linear n (mixed n k I B p) k n (fun l => B l k) (fun l i => I i l)) by lia.
    apply total_ext. intros l L. f_equal.
    rewrite mixed_next. apply (IH (S k)); [lia|]. now apply chosen_lt.
Qed.

Lemma D_transpose : forall n B, D n (turn B) = D n B.
Proof.
  intros n B. pose proof (D_mixed_turned n B n O eq_refl (fun j => j) (fun j J => J)) as H.
  rewrite (D_ext n (mixed n 0 I B (fun j => j)) B) in H by (intros; now apply mixed_identity).
  rewrite (D_ext n (turn (mixed n 0 I B (fun j => j))) (turn B)) in H; [easy|].
  intros. unfold turn. now apply mixed_identity.
Qed.

(** ** The determinant of the statements *)
Lemma sum_to_total : forall k f, sum_to k f = total k (fun i => f (INR i)).
Proof. induction k as [|k IH]; intros f; [easy|]. simpl sum_to. now rewrite IH. Qed.
Lemma sign_power : forall j, powerRZ (-1) (Int_part (INR j)) = (-1) ^ j.
Proof. intros j. rewrite INR_IZR_INZ, Int_part_IZR. symmetry. apply pow_powerRZ. Qed.

Lemma det_to_D : forall n f, det_to n f = D n (fun i j => f (INR i) (INR j)).
Proof.
  induction n as [|m IH]; intros f; [easy|].
  change (det_to (S m) f) with (sum_to (S m) (fun j => powerRZ (-1) (Int_part j) * f 0 j
    * det_to m (fun r c => f (r + 1) (if Rlt_dec c j then c else c + 1)))).
  rewrite sum_to_total, D_S. apply total_ext. intros j _. rewrite sign_power, IH. f_equal.
  apply D_ext. intros r c _ _. unfold minor, skip. rewrite S_INR. f_equal.
  destruct (Nat.ltb_spec c j) as [L|L]; destruct (Rlt_dec (INR c) (INR j)) as [L'|L'].
  - easy.
  - apply lt_INR in L. lra.
  - apply INR_lt in L'. lia.
  - now rewrite S_INR.
Qed.

Lemma Det_ext : forall n f g,
  (forall i j, is_index n i -> is_index n j -> f i j = g i j) -> Det n f = Det n g.
Proof.
  intros n f g H. unfold Det. rewrite !det_to_D. apply D_ext. intros i j Hi Hj.
  apply H; now apply INR_index.
Qed.
Theorem Det_product : forall n A B,
  Det n (fun i j => Sum n (fun k => A i k * B k j)) = Det n A * Det n B.
Proof.
  intros n A B. unfold Det. rewrite !det_to_D, <- D_product. apply D_ext. intros i j _ _.
  unfold Sum. apply sum_to_total.
Qed.
Theorem Det_transpose : forall n A, Det n (fun i j => A j i) = Det n A.
Proof.
  intros n A. unfold Det. rewrite !det_to_D.
  exact (D_transpose (count n) (fun i j => A (INR i) (INR j))).
Qed.
Theorem Det_identity : forall n, Det n delta = 1.
Proof.
  intros n. unfold Det. rewrite det_to_D, <- (D_identity (count n)). apply D_ext. intros i j _ _.
  unfold delta, I. destruct (Req_EM_T (INR i) (INR j)) as [E|E]; destruct (Nat.eqb_spec i j); auto.
  - now apply INR_eq in E.
  - now subst.
Qed.
