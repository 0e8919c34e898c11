(** What the statements of [Spec.v] are made of.

    Every term is a real number.  Sizes and indices are real numbers too, namely integers; tensors
    and functions are total.  Division by zero gives 0 ([Rinv_0]), [sqrt] gives 0 below 0, and [ln]
    gives 0 at and below 0: so it is in Coq's library, and so the verifier reads its formulas.  What
    a statement needs so that none of these conventions matters is stated beside it, under the same
    name with [_defined]. *)
Require Export Reals List.
Require Import ZArith.
Export ListNotations.
Open Scope R_scope.

Definition is_int (x : R) : Prop := exists k : Z, x = IZR k.
Definition is_nat (x : R) : Prop := is_int x /\ 0 <= x.
Definition is_size (x : R) : Prop := is_int x /\ 1 <= x.
(** 0 <= i < n *)
Definition is_index (n i : R) : Prop := is_int i /\ 0 <= i /\ i < n.

Definition floor (x : R) : R := IZR (Int_part x).
Definition modulo (x n : R) : R := x - n * floor (x / n).
(** 1 if the two are equal, otherwise 0 *)
Definition delta (x y : R) : R := if Req_EM_T x y then 1 else 0.

(** The sum and the product over the integers 0 <= i < n. *)
Definition count (n : R) : nat := Z.to_nat (- Int_part (- n)).
Fixpoint sum_to (k : nat) (f : R -> R) : R :=
  match k with O => 0 | S m => sum_to m f + f (INR m) end.
Fixpoint product_to (k : nat) (f : R -> R) : R :=
  match k with O => 1 | S m => product_to m f * f (INR m) end.
Definition Sum (n : R) (f : R -> R) : R := sum_to (count n) f.
Definition Product (n : R) (f : R -> R) : R := product_to (count n) f.

(** The determinant of the n x n matrix f, by its first row. *)
Fixpoint det_to (k : nat) (f : R -> R -> R) : R :=
  match k with
  | O => 1
  | S m =>
      sum_to k (fun j => powerRZ (-1) (Int_part j) * f 0 j
        * det_to m (fun r c => f (r + 1) (if Rlt_dec c j then c else c + 1)))
  end.
Definition Det (n : R) (f : R -> R -> R) : R := det_to (count n) f.

(** A vector of n entries, 0 outside of its range: what a function of vectors is given. *)
Definition vector (n : R) (f : R -> R) : R -> R := fun i =>
  if Req_EM_T (floor i) i
  then if Rle_dec 0 i then if Rlt_dec i n then f i else 0 else 0
  else 0.

(** x ^ y: by repeated multiplication for an integer y, otherwise for x > 0. *)
Definition power (x y : R) : R :=
  if Req_EM_T (floor y) y then powerRZ x (Int_part y)
  else if Rlt_dec 0 x then exp (y * ln x) else 0.

(** F is differentiable at p, with the partial derivatives v, as a function of the entries of a
    tensor with one to four indices (Frechet, in the norm of the absolute values). *)
Definition gradient1 (n : R) (F : (R -> R) -> R) (p v : R -> R) : Prop :=
  forall eps, 0 < eps -> exists rad, 0 < rad /\ forall h : R -> R,
    (forall i, ~ is_index n i -> h i = 0) ->
    Sum n (fun i => Rabs (h i)) <= rad ->
    Rabs (F (fun i => p i + h i) - F p - Sum n (fun i => v i * h i))
      <= eps * Sum n (fun i => Rabs (h i)).
Definition gradient2 (n m : R) (F : (R -> R -> R) -> R) (p v : R -> R -> R) : Prop :=
  forall eps, 0 < eps -> exists rad, 0 < rad /\ forall h : R -> R -> R,
    (forall i j, ~ (is_index n i /\ is_index m j) -> h i j = 0) ->
    Sum n (fun i => Sum m (fun j => Rabs (h i j))) <= rad ->
    Rabs (F (fun i j => p i j + h i j) - F p - Sum n (fun i => Sum m (fun j => v i j * h i j)))
      <= eps * Sum n (fun i => Sum m (fun j => Rabs (h i j))).
Definition gradient3 (n m k : R) (F : (R -> R -> R -> R) -> R) (p v : R -> R -> R -> R) : Prop :=
  forall eps, 0 < eps -> exists rad, 0 < rad /\ forall h : R -> R -> R -> R,
    (forall i j l, ~ (is_index n i /\ is_index m j /\ is_index k l) -> h i j l = 0) ->
    Sum n (fun i => Sum m (fun j => Sum k (fun l => Rabs (h i j l)))) <= rad ->
    Rabs (F (fun i j l => p i j l + h i j l) - F p
          - Sum n (fun i => Sum m (fun j => Sum k (fun l => v i j l * h i j l))))
      <= eps * Sum n (fun i => Sum m (fun j => Sum k (fun l => Rabs (h i j l)))).
Definition gradient4 (n m k o : R) (F : (R -> R -> R -> R -> R) -> R)
  (p v : R -> R -> R -> R -> R) : Prop :=
  forall eps, 0 < eps -> exists rad, 0 < rad /\ forall h : R -> R -> R -> R -> R,
    (forall a b c d,
      ~ (is_index n a /\ is_index m b /\ is_index k c /\ is_index o d) -> h a b c d = 0) ->
    Sum n (fun a => Sum m (fun b => Sum k (fun c => Sum o (fun d => Rabs (h a b c d))))) <= rad ->
    Rabs (F (fun a b c d => p a b c d + h a b c d) - F p
          - Sum n (fun a => Sum m (fun b => Sum k (fun c => Sum o (fun d =>
              v a b c d * h a b c d)))))
      <= eps * Sum n (fun a => Sum m (fun b => Sum k (fun c => Sum o (fun d =>
                 Rabs (h a b c d))))).

(** An expectation: a linear functional on the random quantities, with E[1] = 1. *)
Definition expectation {Omega : Type} (E : (Omega -> R) -> R) : Prop :=
  (forall a X Y, E (fun w => a * X w + Y w) = a * E X + E Y) /\ E (fun _ => 1) = 1.
