(** Pi is irrational (I. Niven, A simple proof that pi is irrational, Bull. AMS 53 (1947), 509).

    With f n x = (x (pi - x))^n / n! there are functions g n so that (g n)'' + g n = f n, and whose
    value c n at 0 and at pi obeys c (n + 2) = (4 n + 6) c (n + 1) - pi^2 c n.  By the mean value
    theorem for (g n)' sin - g n cos, 2 c n = pi (f n x) (sin x) for some x between 0 and pi.  Were
    b pi = a for integers, b^n c n would be an integer, and for a large n between 0 and 1. *)
Require Import Reals ZArith Lia Lra.
From Derive Require Import Prelude Sums.
Open Scope R_scope.

Definition f (n : nat) (x : R) : R := (x * (PI - x)) ^ n / INR (fact n).
Definition df (n : nat) (x : R) : R :=
  match n with O => 0 | S m => f m x * (PI - 2 * x) end.

(** g (n + 2) = f (n + 2) + (4 n + 6) g (n + 1) - pi^2 g n; [dg] is the derivative. *)
Definition next (n : nat) (u v w : R) : R := u + (4 * INR n + 6) * v - PI ^ 2 * w.
Fixpoint g (n : nat) (x : R) : R :=
  match n with
  | O => 1
  | S m => match m with O => f 1 x + 2 | S k => next k (f n x) (g m x) (g k x) end
  end.
Fixpoint dg (n : nat) (x : R) : R :=
  match n with
  | O => 0
  | S m => match m with O => df 1 x | S k => next k (df n x) (dg m x) (dg k x) end
  end.
Fixpoint c (n : nat) : R :=
  match n with
  | O => 1
  | S m => match m with O => 2 | S k => next k 0 (c m) (c k) end
  end.

Lemma two_steps : forall P : nat -> Prop,
  P 0%nat -> P 1%nat -> (forall n, P n -> P (S n) -> P (S (S n))) -> forall n, P n.
Proof.
  intros P P0 P1 H n. assert (P n /\ P (S n)) as [Q _]; [|exact Q].
  induction n as [|n [A B]]; auto.
Qed.

Lemma g_next : forall n x, g (S (S n)) x = next n (f (S (S n)) x) (g (S n) x) (g n x).
Proof. reflexivity. Qed.
Lemma c_next : forall n, c (S (S n)) = next n 0 (c (S n)) (c n).
Proof. reflexivity. Qed.

(** ** Derivatives *)
Lemma slope : forall h x v w, derivable_pt_lim h x v -> v = w -> derivable_pt_lim h x w.
Proof. now intros h x v w H <-. Qed.
Lemma fact_S : forall n, INR (fact (S n)) = (INR n + 1) * INR (fact n).
Proof. intros n. now rewrite fact_simpl, mult_INR, S_INR. Qed.
Lemma above : forall n, INR n + 1 <> 0.
Proof. intros n. pose proof (pos_INR n). lra. Qed.

Lemma arc_slope : forall x, derivable_pt_lim (fun y => y * (PI - y)) x (PI - 2 * x).
Proof.
  intros x. eapply slope.
  - apply derivable_pt_lim_mult; [apply derivable_pt_lim_id|].
    apply derivable_pt_lim_minus; [apply derivable_pt_lim_const|apply derivable_pt_lim_id].
  - unfold id. ring.
Qed.
Lemma f_slope : forall n x, derivable_pt_lim (f n) x (df n x).
Proof.
  intros [|n] x.
  - exact (derivable_pt_lim_const (1 / INR (fact 0)) x).
  - eapply slope.
    + apply (derivable_pt_lim_mult (fun y => (y * (PI - y)) ^ S n) (fun _ => / INR (fact (S n)))).
      * apply (derivable_pt_lim_comp (fun y => y * (PI - y)) (fun u => u ^ S n));
          [apply arc_slope|apply derivable_pt_lim_pow].
      * apply derivable_pt_lim_const.
    + unfold df, f. rewrite fact_S, S_INR. cbn [pred].
      pose proof (INR_fact_neq_0 n). pose proof (above n). field. now split.
Qed.

(** (f (n + 2))'' *)
Lemma f_bend : forall n x,
  derivable_pt_lim (df (S (S n))) x (PI ^ 2 * f n x - (4 * INR n + 6) * f (S n) x).
Proof.
  intros n x. eapply slope.
  - apply (derivable_pt_lim_mult (f (S n)) (fun y => PI - 2 * y)); [apply f_slope|].
    apply (derivable_pt_lim_minus (fun _ => PI) (fun y => 2 * y)); [apply derivable_pt_lim_const|].
    apply (derivable_pt_lim_scal id). apply derivable_pt_lim_id.
  - unfold df, f. rewrite fact_S. cbn [pow].
    pose proof (INR_fact_neq_0 n). pose proof (above n). field. now split.
Qed.

Lemma next_slope : forall n (u v w du dv dw : R -> R) x,
  derivable_pt_lim u x (du x) -> derivable_pt_lim v x (dv x) -> derivable_pt_lim w x (dw x) ->
  derivable_pt_lim (fun y => next n (u y) (v y) (w y)) x (next n (du x) (dv x) (dw x)).
Proof.
  intros n u v w du dv dw x U V W. unfold next.
  apply (derivable_pt_lim_minus (fun y => u y + (4 * INR n + 6) * v y) (fun y => PI ^ 2 * w y)).
  - apply (derivable_pt_lim_plus u (fun y => (4 * INR n + 6) * v y)); [exact U|].
    now apply derivable_pt_lim_scal.
  - now apply derivable_pt_lim_scal.
Qed.

Lemma g_slope : forall n x, derivable_pt_lim (g n) x (dg n x).
Proof.
  intros n x. revert n. apply two_steps.
  - apply derivable_pt_lim_const.
  - eapply slope.
    + apply (derivable_pt_lim_plus (f 1) (fun _ => 2)); [apply f_slope|].
      apply derivable_pt_lim_const.
    + apply Rplus_0_r.
  - intros n G0 G1. apply (next_slope n (f (S (S n))) (g (S n)) (g n)); auto. apply f_slope.
Qed.

Lemma dg_slope : forall n x, derivable_pt_lim (dg n) x (f n x - g n x).
Proof.
  intros n x. revert n. apply two_steps.
  - eapply slope; [apply derivable_pt_lim_const|]. unfold f. simpl. field.
  - eapply slope.
    + apply (derivable_pt_lim_mult (f 0) (fun y => PI - 2 * y)); [apply f_slope|].
      apply (derivable_pt_lim_minus (fun _ => PI) (fun y => 2 * y));
        [apply derivable_pt_lim_const|].
      apply (derivable_pt_lim_scal id). apply derivable_pt_lim_id.
    + cbn [df g]. unfold f. simpl. field.
  - intros n G0 G1. eapply slope.
    + apply (next_slope n (df (S (S n))) (dg (S n)) (dg n)
        (fun y => PI ^ 2 * f n y - (4 * INR n + 6) * f (S n) y)
        (fun y => f (S n) y - g (S n) y) (fun y => f n y - g n y)); auto. apply f_bend.
    + cbv beta. rewrite g_next. unfold next. ring.
Qed.

(** ** Values at the ends *)
Lemma f_ends : forall n, f (S n) 0 = 0 /\ f (S n) PI = 0.
Proof.
  intros n. unfold f. pose proof (INR_fact_neq_0 (S n)).
  split.
  - replace (0 * (PI - 0)) with 0 by ring. rewrite pow_i by lia. field. assumption.
  - replace (PI * (PI - PI)) with 0 by ring. rewrite pow_i by lia. field. assumption.
Qed.
Lemma g_ends : forall n, g n 0 = c n /\ g n PI = c n.
Proof.
  apply two_steps; [now split|simpl; destruct (f_ends 0); lra|].
  intros n [A B] [C D]. destruct (f_ends (S n)) as [P Q].
  rewrite !g_next, c_next, P, Q, A, B, C, D. now split.
Qed.

Lemma mean_value : forall n, exists x, 0 < x < PI /\ 2 * c n = PI * (f n x * sin x).
Proof.
  intros n.
  destruct (MVT_cor2 (fun x => dg n x * sin x - g n x * cos x) (fun x => f n x * sin x) 0 PI)
    as (x & Q & X).
  - exact PI_RGT_0.
  - intros x _. eapply slope.
    + apply (derivable_pt_lim_minus (fun y => dg n y * sin y) (fun y => g n y * cos y)).
      * apply derivable_pt_lim_mult; [apply dg_slope|apply derivable_pt_lim_sin].
      * apply derivable_pt_lim_mult; [apply g_slope|apply derivable_pt_lim_cos].
    + ring.
  - exists x. split; [exact X|]. destruct (g_ends n) as [A B].
    rewrite A, B, sin_0, cos_0, sin_PI, cos_PI in Q. lra.
Qed.

(** 0 < f n x sin x, and it is small for a large n *)
Lemma f_bounds : forall n x, 0 < x < PI ->
  0 < f n x * sin x <= (PI ^ 2) ^ n / INR (fact n).
Proof.
  intros n x [X Y]. pose proof (INR_fact_lt_0 n) as F.
  assert (0 < sin x) as S by (now apply sin_gt_0). pose proof (SIN_bound x) as [_ S1].
  assert (0 < x * (PI - x)) as A by (apply Rmult_lt_0_compat; lra).
  assert (x * (PI - x) <= PI ^ 2) as B by nra.
  assert (0 < f n x) as P by (apply Rdiv_lt_0_compat; [now apply pow_lt|exact F]).
  assert (f n x <= (PI ^ 2) ^ n / INR (fact n)) as Q.
  { apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. apply pow_incr. lra. }
  split; [now apply Rmult_lt_0_compat|]. nra.
Qed.

(** ** The integers *)
Lemma c_integer : forall a b : Z, IZR b * PI = IZR a ->
  forall n, is_int (IZR b ^ n * c n).
Proof.
  intros a b H. apply two_steps.
  - exists 1%Z. simpl. ring.
  - exists (b * 2)%Z. rewrite mult_IZR. simpl. ring.
  - intros n (u & U) (v & V). exists ((4 * Z.of_nat n + 6) * b * v - a * a * u)%Z.
    rewrite c_next. unfold next.
    rewrite minus_IZR, !mult_IZR, plus_IZR, mult_IZR, <- INR_IZR_INZ, <- U, <- V, <- H.
    simpl. ring.
Qed.

Lemma multiple : forall a b : Z, (0 < b)%Z -> IZR b * PI <> IZR a.
Proof.
  intros a b P H. apply IZR_lt in P. pose proof PI_RGT_0 as PP.
  destruct (cv_speed_pow_fact (IZR b * PI ^ 2) (/ PI)) as [n N]; [now apply Rinv_0_lt_compat|].
  specialize (N n (le_n n)). unfold R_dist in N. rewrite Rminus_0_r in N.
  apply Rabs_def2 in N. destruct N as [N _]. rewrite Rpow_mult_distr in N.
  destruct (mean_value n) as (x & X & M). destruct (f_bounds n x X) as [L U].
  destruct (c_integer a b H n) as (z & Z).
  assert (0 < IZR b ^ n) as Q by (now apply pow_lt).
  assert (2 * IZR z = IZR b ^ n * (PI * (f n x * sin x))) as E by (rewrite <- M, <- Z; ring).
  assert (0 < 2 * IZR z) as A.
  { rewrite E. apply Rmult_lt_0_compat; [exact Q|]. now apply Rmult_lt_0_compat. }
  assert (2 * IZR z < 1) as B.
  { rewrite E. apply Rle_lt_trans with (PI * (IZR b ^ n * (PI ^ 2) ^ n / INR (fact n))).
    - apply Rle_trans with (IZR b ^ n * (PI * ((PI ^ 2) ^ n / INR (fact n)))).
      + apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra.
      + right. unfold Rdiv. ring.
    - rewrite <- (Rinv_r PI) by lra. now apply Rmult_lt_compat_l. }
  rewrite <- mult_IZR in A, B. apply lt_IZR in A. apply lt_IZR in B. lia.
Qed.

Theorem pi_irrational : forall m n : R, is_int m -> is_int n -> m = PI * n -> n = 0.
Proof.
  intros m n (a & ->) (b & ->) H. destruct (Z.eq_dec b 0) as [->|D]; [reflexivity|exfalso].
  destruct (Z_lt_le_dec 0 b) as [P|P].
  - apply (multiple a b P). lra.
  - apply (multiple (- a) (- b)); [lia|]. rewrite !opp_IZR. lra.
Qed.
