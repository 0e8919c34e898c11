(** The derivative table: the partial derivatives of a term by the entries of a tensor, and the
    rules about gradients. *)
Require Import ZArith QArith Bool.
From Derive Require Import Prelude Sums Terms Poly Signs Normal Rules.
Close Scope Q_scope.
Open Scope R_scope.

(** The bound name d does not occur *)
Fixpoint misses (d : nat) (t : tm) : bool :=
  match t with
  | Num _ _ | Pi | Free _ _ _ | HFree _ _ => true
  | Bound i | HBound i => negb (Nat.eqb i d)
  | Opp a | Inv a | Pow a _ | Fn _ a | Exp_ a | Val a => misses d a
  | Add a b | Mul a b | Max a b | Min a b | RPow a b | Delta a b | Ap a b => misses d a && misses d b
  | TSum n b | TProd n b => misses d n && misses (S d) b
  | ApV h n b => misses d h && misses d n && misses (S d) b
  | Lam h => misses (S d) h
  | TDet n h => misses d n && misses d h
  end.

(** *** At the point
    A term under the tensor and d indices becomes one under r indices, those of the entry by which
    it is differentiated, and the d indices; the point [p] stands for the tensor. *)
Definition nlam (r : nat) (p : tm) : tm := Nat.iter r Lam p.
Definition place (r : nat) (p : tm) : nat -> vl :=
  fun k => match k with O => VH (ren (Nat.add r) (nlam r p)) | S j => VB (r + j) end.
Definition places (r : nat) (p : tm) (d : nat) : nat -> vl := Nat.iter d up_vl (place r p).

(** *** Conditions
    What is needed at the indices of [c] is an instance of a premise: at the indices that occur. *)
Fixpoint names_in (k : nat) (t : tm) : list vl :=
  match k with
  | O => []
  | S j => if misses j t then names_in j t else VS (Bound j) :: names_in j t
  end.
Definition opened (c : ctx) (t : tm) (p : fm) : option fm :=
  if fclosed 0 p then open nothing c p (names_in (length c) t) else None.
Definition nonzero (ps : list fm) (c : ctx) (t : tm) : bool :=
  if is_nz (sign_of nothing c t) then true
  else existsb (fun p => match opened c t p with
       | Some (FNot (FEq a z)) => teqb z zero && same nothing c a t
       | _ => false end) ps.
Definition positive_ (ps : list fm) (c : ctx) (t : tm) : bool :=
  if is_pos (sign_of nothing c t) then true
  else existsb (fun p => match opened c t p with
       | Some (FLt z a) => teqb z zero && same nothing c a t
       | _ => false end) ps.
(** The partial derivatives of the function [h] of a vector of n entries, at the vector [b] *)
Definition slope_of (h n b : tm) (q : option fm) : option tm :=
  match q with
  | Some (FGrad1 m f p v) =>
      if teqb m n && teqb f (Val (ApV (lift h) (lift n) (Val (Ap (HBound 1) (Bound 0))))) && teqb p b
      then Some v else None
  | _ => None
  end.
Fixpoint slope (ps : list fm) (c : ctx) (h n b : tm) : option tm :=
  match ps with
  | [] => None
  | p :: r =>
      match slope_of h n b (opened c (Val (ApV h n b)) p) with
      | Some v => Some v
      | None => slope r c h n b
      end
  end.

(** *** The table *)
Definition plus_opt (a b : option tm) : option tm :=
  match a, b with
  | None, o | o, None => o
  | Some x, Some y => Some (Add x y)
  end.
Definition outer (f : fname) (x : tm) : option tm :=
  match f with
  | Fsin => Some (Fn Fcos x)
  | Fcos => Some (Opp (Fn Fsin x))
  | Fexp => Some (Fn Fexp x)
  | Fln => Some (Inv x)
  | Fsqrt => Some (Mul one_ (Inv (Mul (Num 2 1) (Fn Fsqrt x))))
  | _ => None
  end.
(** The arguments of the tensor d *)
Fixpoint arguments (d : nat) (h : tm) : option (list tm) :=
  match h with
  | HBound i => if Nat.eqb i d then Some [] else None
  | Ap g a =>
      if misses d a then
        match arguments d g with Some l => Some (l ++ [a]) | None => None end
      else None
  | _ => None
  end.
Fixpoint delta_factors (d : nat) (ss : list tm) : tm -> tm :=
  match ss with
  | [] => fun t => t
  | s :: r => fun t => delta_factors d r (Mul t (Delta (Bound (d + length r)) s))
  end.
Definition delta_product (d : nat) (ss : list tm) : tm :=
  match ss with
  | [] => one_
  | s :: r => delta_factors d r (Delta (Bound (d + length r)) s)
  end.

Section Table.
Context (ps : list fm) (r : nat) (p : tm).
Definition at_point (d : nat) (t : tm) : tm := bt (sub (places r p d) t).

(** [Some None] says that the tensor does not occur. *)
Fixpoint partial (c : ctx) (d : nat) (t : tm) {struct t} : option (option tm) :=
  if misses d t then Some None else
  match t with
  | Add a b =>
      match partial c d a, partial c d b with
      | Some x, Some y => Some (plus_opt x y)
      | _, _ => None
      end
  | Mul a b =>
      match partial c d a, partial c d b with
      | Some x, Some y =>
          Some (plus_opt (option_map (fun x => Mul x (at_point d b)) x)
                         (option_map (fun y => Mul (at_point d a) y) y))
      | _, _ => None
      end
  | Opp a => match partial c d a with Some x => Some (option_map Opp x) | None => None end
  | Inv a =>
      let a' := at_point d a in
      if nonzero ps c a' then
        match partial c d a with
        | Some x => Some (option_map (fun x => Opp (Mul (Pow (Inv a') 2) x)) x)
        | None => None
        end
      else None
  | Pow a k =>
      match partial c d a with
      | Some x =>
          Some (option_map (fun x =>
            Mul (Mul (Num (Z.of_nat k) 1) (Pow (at_point d a) (pred k))) x) x)
      | None => None
      end
  | Fn f a =>
      let a' := at_point d a in
      if match f with Fln | Fsqrt => positive_ ps c a' | _ => true end then
        match outer f a', partial c d a with
        | Some o, Some x => Some (option_map (Mul o) x)
        | _, _ => None
        end
      else None
  | TSum n b =>
      if misses d n then
        let n' := at_point d n in
        match partial (CIdx n' :: c) (S d) b with
        | Some x => Some (option_map (TSum n') x)
        | None => None
        end
      else None
  | Val (ApV h n b) =>
      if misses d h && misses d n then
        let n' := at_point d n in
        match slope ps c (at_point d h) n' (at_point (S d) b), partial (CIdx n' :: c) (S d) b with
        | Some v, Some x => Some (option_map (fun x => TSum n' (Mul v x)) x)
        | _, _ => None
        end
      else None
  | Val h =>
      match arguments d h with
      | Some ss =>
          if Nat.eqb (length ss) r
          then Some (Some (delta_product d (map (at_point d) ss))) else None
      | None => None
      end
  | _ => None
  end.
End Table.

(** *** The rules *)
Fixpoint entries (k : nat) (ns : list tm) (c : ctx) : ctx :=
  match ns with [] => c | n :: r => entries (S k) r (CIdx (ren (Nat.add k) n) :: c) end.
Fixpoint all_entries (k : nat) (ns : list tm) (p : fm) : fm :=
  match ns with [] => p | n :: r => FAll (QNum KFin) (ren (Nat.add k) n) (all_entries (S k) r p) end.
Definition gradient_parts (g : fm) : option (list tm * tm * tm * tm) :=
  match g with
  | FGrad1 n f p v => Some ([n], f, p, v)
  | FGrad2 n m f p v => Some ([n; m], f, p, v)
  | FGrad3 n m k f p v => Some ([n; m; k], f, p, v)
  | FGrad4 n m k o f p v => Some ([n; m; k; o], f, p, v)
  | _ => None
  end.
Definition derivative (ps : list fm) (goal : fm) : bool :=
  match gradient_parts goal with
  | Some (ns, f, p, v) =>
      negb (is_head p) && still p &&
      let c := entries 0 ns [] in
      match partial ps (length ns) p c 0 f with
      | Some (Some x) => same nothing c v x
      | Some None => same nothing c v zero
      | None => false
      end
  | None => false
  end.
Definition r_derivative (ps : list thm) (goal : fm) : option thm :=
  check (derivative (map snd ps) goal) (unions ps, goal).

Definition r_gradient_value (p q : thm) (goal : fm) : option thm :=
  match gradient_parts (snd p), gradient_parts goal with
  | Some (ns, f, x, v), Some (ms, g, y, w) =>
      check (seqb ns ms && teqb f g && teqb x y && equal (snd q) (all_entries 0 ns (FEq v w)))
        (union (fst p) (fst q), goal)
  | _, _ => None
  end.
Definition r_gradient_function (p q : thm) (goal : fm) : option thm :=
  match gradient_parts (snd p), gradient_parts goal with
  | Some (ns, f, x, v), Some (ms, g, y, w) =>
      check (seqb ns ms && teqb x y && teqb v w
             && equal (snd q) (FAll (QTen (length ns)) zero (FEq f g)))
        (union (fst p) (fst q), goal)
  | _, _ => None
  end.
Definition r_gradient_unique (p q : thm) : option thm :=
  match gradient_parts (snd p), gradient_parts (snd q) with
  | Some (ns, f, x, v), Some (ms, g, y, w) =>
      check (seqb ns ms && teqb f g && teqb x y)
        (union (fst p) (fst q), all_entries 0 ns (FEq v w))
  | _, _ => None
  end.
