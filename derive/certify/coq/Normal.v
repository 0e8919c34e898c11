(** The verified normaliser: every term is brought to a polynomial of equal value.

    [norm1] makes the normal form of a term from a normaliser [N] of its parts; [norm] closes the
    circle with a bound on the depth.  Nothing here says that equal terms have equal normal forms:
    where they do not, a proof is refused. *)
Require Import ZArith QArith Qreals Lia Lra FunctionalExtensionality Bool.
From Derive Require Import Prelude Sums Terms Poly Signs.
Close Scope Q_scope.
Open Scope R_scope.
Arguments Qinv : simpl never.
Arguments Qopp : simpl never.
Arguments pconst : simpl never.
Arguments pscale : simpl never.

(** ** Substitution of a free number *)
Fixpoint rep (x : positive) (k : kind) (n r t : tm) : tm :=
  match t with
  | Free y k' n' => if Pos.eqb y x && kind_eqb k' k && teqb n' n then r else t
  | Num _ _ | Pi | HFree _ _ | Bound _ | HBound _ => t
  | Add a b => Add (rep x k n r a) (rep x k n r b)
  | Mul a b => Mul (rep x k n r a) (rep x k n r b)
  | Opp a => Opp (rep x k n r a)
  | Inv a => Inv (rep x k n r a)
  | Pow a j => Pow (rep x k n r a) j
  | Fn f a => Fn f (rep x k n r a)
  | Max a b => Max (rep x k n r a) (rep x k n r b)
  | Min a b => Min (rep x k n r a) (rep x k n r b)
  | RPow a b => RPow (rep x k n r a) (rep x k n r b)
  | Delta a b => Delta (rep x k n r a) (rep x k n r b)
  | TSum a b => TSum (rep x k n r a) (rep x k n (lift r) b)
  | TProd a b => TProd (rep x k n r a) (rep x k n (lift r) b)
  | Exp_ b => Exp_ (rep x k n r b)
  | Val h => Val (rep x k n r h)
  | Ap h a => Ap (rep x k n r h) (rep x k n r a)
  | ApV h a b => ApV (rep x k n r h) (rep x k n r a) (rep x k n (lift r) b)
  | Lam h => Lam (rep x k n (lift r) h)
  | TDet a h => TDet (rep x k n r a) (rep x k n r h)
  end.

Fixpoint fget (t : tm) (fs : list (tm * nat)) : nat :=
  match fs with
  | [] => 0%nat
  | (u, k) :: r => if teqb u t then (k + fget t r)%nat else fget t r
  end.
Fixpoint fdel (t : tm) (fs : list (tm * nat)) : list (tm * nat) :=
  match fs with
  | [] => []
  | (u, k) :: r => if teqb u t then fdel t r else (u, k) :: fdel t r
  end.

(** The lead of a polynomial, and the polynomial divided by its size. *)
Definition lead (p : poly) : Q :=
  match p with [] => 1%Q | (c, _) :: _ => if Qeq_bool c 0 then 1%Q else c end.
Definition q_abs (q : Q) : Q := Qmake (Z.abs (Qnum q)) (Qden q).
Definition unit_lead (p : poly) : poly := pscale (Qinv (q_abs (lead p))) p.
Definition monic (p : poly) : poly := pscale (Qinv (lead p)) p.

Fixpoint ppow (p : poly) (k : nat) : poly :=
  match k with O => pconst 1 | S j => pmul p (ppow p j) end.

(** Sequences of exchanges of neighbours that give all orders of r sums. *)
Fixpoint upto (k : nat) : list nat := match k with O => [] | S j => upto j ++ [j] end.
Fixpoint orders (r : nat) : list (list nat) :=
  match r with
  | O => [[]]
  | S j => flat_map (fun s => map (fun k => map S s ++ upto k) (upto (S j))) (orders j)
  end.
Fixpoint swaps (js : list nat) (m : mono) : option mono :=
  match js with
  | [] => Some m
  | j :: r => match swap_m j (fst m) (snd m) with Some m' => swaps r m' | None => None end
  end.

Fixpoint is_plain (t : tm) : bool :=
  match t with
  | Num _ _ | Pi | Free _ _ _ | Bound _ | HFree _ _ | HBound _ => true
  | Val h => is_plain h
  | Ap h a => is_plain h && is_plain a
  | _ => false
  end.

Fixpoint idx_size (c : ctx) (i : nat) : option tm :=
  match c, i with
  | [], _ => None
  | CIdx n :: _, O => Some (lift n)
  | _ :: _, O => None
  | _ :: c', S j => match idx_size c' j with Some n => Some (lift n) | None => None end
  end.

(** The square root of a positive number: a rational and primes whose roots remain. *)
Fixpoint divide_out (f : nat) (n p : Z) (e : nat) : Z * nat :=
  match f with
  | O => (n, e)
  | S g => if Z.eqb (Z.modulo n p) 0 then divide_out g (Z.div n p) p (S e) else (n, e)
  end.
Fixpoint factors (f : nat) (n p : Z) : list (Z * nat) :=
  match f with
  | O => [(n, 1%nat)]
  | S g =>
      if Z.leb n 1 then []
      else if Z.ltb n (p * p) then [(n, 1%nat)]
      else
        let (m, e) := divide_out 200 n p 0 in
        match e with O => factors g n (p + 1) | _ => (p, e) :: factors g m (p + 1) end
  end.
Fixpoint root_parts (l : list (Z * nat)) : Z * list Z :=
  match l with
  | [] => (1%Z, [])
  | (p, e) :: r =>
      let (z, ps) := root_parts r in
      ((Z.pow p (Z.of_nat (Nat.div2 e)) * z)%Z, if Nat.odd e then p :: ps else ps)
  end.
Definition sqrt_q (q : Q) : poly :=
  let d := Zpos (Qden q) in
  let (z, ps) := root_parts (factors 400 (Qnum q * d) 2) in
  let r := Qmake z (Qden q) in
  let square := fold_right Z.mul (z * z)%Z ps in
  if Z.leb 0 z && forallb (Z.leb 0) ps && Z.eqb square (Qnum q * d)
  then [(Qred r, ([], fold_right (fun p fs => finsert (Fn Fsqrt (Num p 1)) 1 fs) [] ps))]
  else patom (Fn Fsqrt (num_tm q)).

Fixpoint qpow (q : Q) (k : nat) : Q :=
  match k with O => 1%Q | S j => Qred (q * qpow q j) end.

Section Step.
Variable K : known.
Variable N : ctx -> tm -> poly.

(** ** Canonical order *)
Definition renorm1 (c : ctx) (tk : tm * nat) : Q * list (tm * nat) :=
  let (t, k) := tk in
  if is_plain t then (1%Q, [tk])
  else match N c t with
    | [(q, ([], fs))] => (qpow q k, map (fun uj => (fst uj, (snd uj * k)%nat)) fs)
    | _ => (1%Q, [tk])
    end.
Fixpoint renorm (c : ctx) (fs : list (tm * nat)) : Q * list (tm * nat) :=
  match fs with
  | [] => (1%Q, [])
  | tk :: r =>
      let (q, gs) := renorm1 c tk in
      let (q', hs) := renorm c r in
      (Qred (q * q'), fmerge gs hs)
  end.
Definition less (a b : Q * mono) : bool := match mcmp (snd a) (snd b) with Lt => true | _ => false end.
Definition arranged (c : ctx) (m : mono) : Q * mono :=
  let (q, fs) := renorm (ext c (fst m)) (snd m) in (q, (fst m, fs)).
Fixpoint best (c : ctx) (m : mono) (js : list (list nat)) (b : Q * mono) : Q * mono :=
  match js with
  | [] => b
  | j :: r =>
      match swaps j m with
      | Some m' => let a := arranged c m' in best c m r (if less a b then a else b)
      | None => best c m r b
      end
  end.
Definition canon (c : ctx) (m : mono) : Q * mono :=
  match fst m with
  | [] => (1%Q, m)
  | ss => if Nat.ltb 5 (length ss) then (1%Q, m) else best c m (orders (length ss)) (arranged c m)
  end.
Fixpoint fin_in (c : ctx) (p acc : poly) : poly :=
  match p with
  | [] => acc
  | (q, m) :: r =>
      let (q', m') := canon c m in fin_in c r (pinsert (Qred (q * q')) m' acc)
  end.
Definition fin (c : ctx) (p : poly) : poly := fin_in c p [].
Definition P (c : ctx) (t : tm) : poly := fin c (N c t).

(** ** Signs of polynomials *)
Definition all_nn (c : ctx) (p : poly) : bool :=
  forallb (fun cm => Qle_bool 0 (fst cm)
    && is_nn (sgn K c (mono_tm 1 (fst (snd cm)) (snd (snd cm))))) p.
Definition plainly_nn (c : ctx) (p : poly) : bool :=
  if all_nn c p then true
  else if is_nn (sgn K c (to_tm p)) then true else is_nn (look (ksign K) (to_tm (unit_lead p))).

Fixpoint places (p : poly) : list tm :=
  match p with
  | [] => []
  | (_, ([], fs)) :: r =>
      filter (fun t => match t with Free _ KDim _ | Free _ KFin _ | Bound _ => true | _ => false end)
        (map fst fs) ++ places r
  | _ :: r => places r
  end.
Definition lows (c : ctx) (x : tm) (p : poly) : list tm :=
  Num 1 1 :: flat_map (fun t =>
    match t with
    | Bound i =>
        match idx_size c i with
        | Some n => if teqb n x then [Add t (Num 1 1)] else []
        | None => []
        end
    | Free _ KFin n =>
        if teqb n x && is_pos (sgn K [] n) then [Add t (Num 1 1)] else []
    | _ => []
    end) (places p).
Fixpoint nonneg (f : nat) (c : ctx) (p : poly) : bool :=
  if plainly_nn c p then true else
  match f with
  | O => false
  | S g =>
      existsb (fun x =>
        match x with
        | Free y KDim n =>
            existsb (fun low =>
              nonneg g (CNat :: c)
                (fin (CNat :: c)
                   (N (CNat :: c) (rep y KDim n (Add (lift low) (Bound 0)) (lift (to_tm p))))))
              (lows c x p)
        | _ => false
        end) (places p)
  end.
Definition nn (c : ctx) (p : poly) : bool := nonneg 4 c p.
Definition minus (p q : poly) : poly := pmerge p (pscale (-1) q).
Definition natural (c : ctx) (n : tm) : bool := let p := P c n in if intp K c p then nn c p else false.
Definition within (c : ctx) (k n : tm) : bool :=
  if match k with
  | Bound i =>
      match idx_size c i with
      | Some m => match fin c (minus (N c m) (N c n)) with [] => true | _ => false end
      | None => false
      end
  | Free _ KFin m =>
      closed 0 m && still m && is_pos (sgn K [] m) &&
      match fin c (minus (N c m) (N c n)) with [] => true | _ => false end
  | _ => false
  end
  then true
  else
    let p := P c k in
    if intp K c p
    then if nn c p then nn c (fin c (minus (minus (N c n) (pconst 1)) p)) else false
    else false.

(** ** Products of factors *)
Fixpoint cancel (c : ctx) (inv rest : list (tm * nat)) : list (tm * nat) :=
  match inv with
  | [] => rest
  | (u, j) :: r =>
      let k := fget u rest in
      if Nat.eqb k 0 then finsert (Inv u) j (cancel c r rest)
      else if Nat.eqb j 0 then cancel c r rest
      else if Nat.ltb j k then cancel c r (finsert u (k - j) (fdel u rest))
      else if Nat.ltb k j then finsert (Inv u) (j - k) (cancel c r (fdel u rest))
      else if is_nz (sgn K c u) then cancel c r (fdel u rest)
      else finsert (Inv u) 1 (finsert u 1 (cancel c r (fdel u rest)))
  end.
Fixpoint inverses (fs : list (tm * nat)) : list (tm * nat) :=
  match fs with
  | [] => []
  | (Inv u, k) :: r => (u, k) :: inverses r
  | _ :: r => inverses r
  end.
Fixpoint others (fs : list (tm * nat)) : list (tm * nat) :=
  match fs with
  | [] => []
  | (Inv u, k) :: r => others r
  | tk :: r => tk :: others r
  end.
Definition fcancel (c : ctx) (fs : list (tm * nat)) : list (tm * nat) :=
  match inverses fs with [] => fs | i => cancel c i (others fs) end.

Definition inv_atom (c : ctx) (t : tm) : poly :=
  match t with
  | Inv u => N c u
  | Delta _ _ => patom t
  | Fn Fexp a => patom (Fn Fexp (to_tm (fin c (pscale (-1) (N c a)))))
  | _ => patom (Inv t)
  end.
Fixpoint inv_fs (c : ctx) (fs : list (tm * nat)) : poly :=
  match fs with
  | [] => pconst 1
  | (t, k) :: r => pmul (ppow (inv_atom c t) k) (inv_fs c r)
  end.
(** The inverse of a polynomial in canonical order *)
Definition pinv (c : ctx) (p : poly) : poly :=
  match p with
  | [] => []
  | [(q, ([], fs))] => pscale (Qinv q) (inv_fs c fs)
  | _ => pscale (Qinv (lead p)) (patom (Inv (to_tm (monic p))))
  end.

(** q ln x as z ln x and the rest: z is the whole part of q towards 0 *)
Definition log_of (cm : Q * mono) : option (Z * tm * poly) :=
  match cm with
  | (q, ([], [(Fn Fln x, 1%nat)])) =>
      let z := Z.quot (Qnum q) (Zpos (Qden q)) in
      let r := Qred (q - inject_Z z) in
      Some (z, x, if Qeq_bool r 0 then [] else [(r, snd cm)])
  | _ => None
  end.
Definition pzpow (c : ctx) (p : poly) (z : Z) : poly :=
  match z with
  | Z0 => pconst 1
  | Zpos k => ppow p (Pos.to_nat k)
  | Zneg k => ppow (pinv c (fin c p)) (Pos.to_nat k)
  end.
Fixpoint exp_parts (c : ctx) (p : poly) : poly * poly :=
  match p with
  | [] => (pconst 1, [])
  | cm :: r =>
      let (out, rest) := exp_parts c r in
      match log_of cm with
      | Some (z, x, part) =>
          if is_pos (sgn K c x) then (pmul (pzpow c (N c x) z) out, part ++ rest)
          else (out, cm :: rest)
      | None => (out, cm :: rest)
      end
  end.
Definition pexp (c : ctx) (p : poly) : poly :=
  let (out, rest) := exp_parts c p in
  match rest with [] => out | _ => pmul out (patom (Fn Fexp (to_tm rest))) end.

(** A delta whose two sides differ by this polynomial *)
Definition delta_vars (t : tm) : option (tm * tm) :=
  match t with
  | Delta (Add x (Mul (Num (-1) 1) y)) (Num 0 1) =>
      match x, y with
      | Bound _, Free _ _ _ => Some (x, y)
      | Free _ _ _, Bound _ | Free _ _ _, Free _ _ _ | Bound _, Bound _ => Some (y, x)
      | _, _ => None
      end
  | _ => None
  end.
Definition put (v r t : tm) : tm :=
  match v with
  | Bound i => sub (fun k => if Nat.eqb k i then VS r else VB k) t
  | Free x k n => rep x k n r t
  | _ => t
  end.
Fixpoint put_fs (c : ctx) (v r : tm) (fs : list (tm * nat)) : poly :=
  match fs with
  | [] => pconst 1
  | (t, k) :: l => pmul (ppow (N c (put v r t)) k) (put_fs c v r l)
  end.
Fixpoint unchanged (v r : tm) (fs : list (tm * nat)) : bool :=
  match fs with [] => true | (t, _) :: l => teqb (put v r t) t && unchanged v r l end.

(** A bound name that stands for a number *)
Definition indexed (c : ctx) (v : tm) : bool :=
  match v with
  | Bound i => match nth i c CAny with CAny => false | _ => true end
  | _ => true
  end.

Fixpoint find_exp (fs : list (tm * nat)) : option (tm * nat * list (tm * nat)) :=
  match fs with
  | [] => None
  | (Fn Fexp a, k) :: r => Some (a, k, r)
  | tk :: r => match find_exp r with Some (a, k, l) => Some (a, k, tk :: l) | None => None end
  end.

Definition half_up (k : nat) : nat := Nat.div2 (S k).
(** A factor that has a simpler form: what is left, and that form *)
Fixpoint law (c : ctx) (acc fs : list (tm * nat)) : option (list (tm * nat) * poly) :=
  match fs with
  | [] => None
  | (t, k) :: r =>
      let rest := rev_append acc r in
      let next := law c ((t, k) :: acc) r in
      match t with
      | Delta a b =>
          if Nat.ltb 1 k then Some (rest, patom t)
          else if Nat.eqb k 0 then next
          else match delta_vars t with
            | Some (v, u) =>
                if unchanged v u rest || negb (indexed c v) then next else Some ([(t, k)], put_fs c v u rest)
            | None => next
            end
      | Fn Fabs a =>
          if Nat.even k && Nat.ltb 1 k then Some (rest, ppow (N c a) k) else next
      | Fn Fsqrt a =>
          if Nat.ltb 1 k && is_nn (sgn K c a)
          then Some (rest, pmul (ppow (N c a) (Nat.div2 k)) (if Nat.odd k then patom t else pconst 1))
          else next
      | Inv (Fn Fsqrt a) =>
          if Nat.ltb 0 k && is_nn (sgn K c a)
          then Some (rest, pmul (ppow (pinv c (fin c (N c a))) (half_up k))
                             (if Nat.odd k then patom (Fn Fsqrt a) else pconst 1))
          else next
      | Fn Fexp a =>
          match find_exp r with
          | Some (b, j, l) =>
              Some (rev_append acc l,
                pexp c (fin c (pmerge (pscale (inject_Z (Z.of_nat k)) (N c a))
                                      (pscale (inject_Z (Z.of_nat j)) (N c b)))))
          | None =>
              if Nat.ltb 1 k
              then Some (rest, pexp c (fin c (pscale (inject_Z (Z.of_nat k)) (N c a))))
              else next
          end
      | _ => next
      end
  end.

Fixpoint psimp_with (F : ctx -> list (tm * nat) -> poly) (c : ctx) (p : poly) : poly :=
  match p with
  | [] => []
  | (q, (ss, fs)) :: r => pmerge (pscale q (wrap ss (F (ext c ss) fs))) (psimp_with F c r)
  end.
Fixpoint fsimp (f : nat) (c : ctx) (fs : list (tm * nat)) : poly :=
  let gs := fcancel c fs in
  match f with
  | O => [(1%Q, ([], gs))]
  | S g =>
      match law c [] gs with
      | None => [(1%Q, ([], gs))]
      | Some (rest, extra) => psimp_with (fsimp g) c (pmul [(1%Q, ([], rest))] extra)
      end
  end.
Definition psimp (c : ctx) (p : poly) : poly := psimp_with (fsimp 40) c p.

(** ** Sums *)
Fixpoint rotation (j r : nat) : list nat :=
  match r with O => [] | S i => if Nat.leb r j then [] else rotation j i ++ [i] end.
Fixpoint split_last (ss : list tm) : option (list tm * tm) :=
  match ss with
  | [] => None
  | [n] => Some ([], n)
  | n :: r => match split_last r with Some (a, b) => Some (n :: a, b) | None => None end
  end.
Definition lower (t : tm) : option tm :=
  let t' := ren pred t in if teqb (lift t') t then Some t' else None.
Fixpoint lower_fs (fs : list (tm * nat)) : option (list (tm * nat)) :=
  match fs with
  | [] => Some []
  | (t, k) :: r =>
      match lower t, lower_fs r with
      | Some t', Some r' => Some ((t', k) :: r')
      | _, _ => None
      end
  end.
(** The value k of the innermost index for which a delta is 1. *)
Fixpoint take_index (d : poly) : option (Q * poly) :=
  match d with
  | [] => None
  | (q, m) :: r =>
      if meqb m ([], [(Bound 0, 1%nat)]) then Some (q, r)
      else match take_index r with Some (q', r') => Some (q', (q, m) :: r') | None => None end
  end.
Definition solve (c : ctx) (n a b : tm) : option tm :=
  let c' := CIdx n :: c in
  match take_index (fin c' (minus (N c' a) (N c' b))) with
  | Some (q, r) =>
      if Qeq_bool q 0 then None
      else match lower (to_tm (fin c' (pscale (Qopp (Qinv q)) r))) with
        | Some k => if still k && within c k n then Some k else None
        | None => None
        end
  | None => None
  end.
Fixpoint inst_fs (c : ctx) (k : tm) (fs : list (tm * nat)) : poly :=
  match fs with
  | [] => pconst 1
  | (t, j) :: r => pmul (ppow (N c (inst (VS k) t)) j) (inst_fs c k r)
  end.
Fixpoint contract (c : ctx) (n : tm) (acc fs : list (tm * nat)) : option poly :=
  match fs with
  | [] => None
  | (Delta a b, S j) :: r =>
      match solve c n a b with
      | Some k => Some (inst_fs c k (rev_append acc r))
      | None => contract c n ((Delta a b, S j) :: acc) r
      end
  | tk :: r => contract c n (tk :: acc) r
  end.
(** The innermost sum, if it can be written without one *)
Definition innermost (c : ctx) (n : tm) (fs : list (tm * nat)) : option poly :=
  match lower_fs fs with
  | Some gs => if natural c n then Some (pmul (N c n) [(1%Q, ([], gs))]) else None
  | None => contract c n [] fs
  end.
Fixpoint first_settled (c : ctx) (m : mono) (js : list nat) : option (list tm * poly) :=
  match js with
  | [] => None
  | j :: r =>
      match swaps (rotation j (pred (length (fst m)))) m with
      | Some (ss, fs) =>
          match split_last ss with
          | Some (ss', n) =>
              match innermost (ext c ss') n fs with
              | Some p => Some (ss', p)
              | None => first_settled c m r
              end
          | None => first_settled c m r
          end
      | None => first_settled c m r
      end
  end.
Fixpoint psettle_with (F : ctx -> mono -> poly) (c : ctx) (p : poly) : poly :=
  match p with
  | [] => []
  | (q, m) :: r => pmerge (pscale q (F c m)) (psettle_with F c r)
  end.
Fixpoint settle (f : nat) (c : ctx) (m : mono) : poly :=
  match f with
  | O => [(1%Q, m)]
  | S g =>
      match first_settled c m (upto (length (fst m))) with
      | Some (ss, p) => psettle_with (settle g) c (psimp c (wrap ss p))
      | None => [(1%Q, m)]
      end
  end.
Definition psettle (c : ctx) (p : poly) : poly := psettle_with (settle 12) c p.

Definition literal (p : poly) : option Q :=
  match p with [] => Some 0%Q | [(q, ([], []))] => Some q | _ => None end.
Fixpoint unroll (c : ctx) (b : tm) (k : nat) : poly :=
  match k with
  | O => []
  | S j => pmerge (N c (inst (VS (Num (Z.of_nat j) 1)) b)) (unroll c b j)
  end.
Fixpoint unroll_product (c : ctx) (b : tm) (k : nat) : poly :=
  match k with
  | O => pconst 1
  | S j => pmul (unroll_product c b j) (N c (inst (VS (Num (Z.of_nat j) 1)) b))
  end.
Definition small (p : poly) : option nat :=
  match literal p with
  | Some q =>
      if Pos.eqb (Qden (Qred q)) 1 && Z.leb (Qnum (Qred q)) 64
      then Some (Z.to_nat (Qnum (Qred q))) else None
  | None => None
  end.
Definition nsum (c : ctx) (n b : tm) : poly :=
  let pn := P c n in
  match small pn with
  | Some k => psimp c (unroll c b k)
  | None =>
      let n' := to_tm pn in
      psettle c (wrap [n'] (N (CIdx n' :: c) b))
  end.
Definition nproduct (c : ctx) (n b : tm) : poly :=
  let pn := P c n in
  match small pn with
  | Some k => psimp c (unroll_product c b k)
  | None => let n' := to_tm pn in patom (TProd n' (to_tm (P (CIdx n' :: c) b)))
  end.

(** Entries of a matrix in normal form *)
Definition ndet (c : ctx) (n h : tm) : tm :=
  let n' := to_tm (P c n) in
  TDet n' match h with
    | Lam (Lam b) => Lam (Lam (to_tm (P (CIdx (lift n') :: CIdx n' :: c) b)))
    | _ => h
    end.

(** ** Functions *)
Definition start (p : poly) : Q := match p with (q, ([], [])) :: _ => q | _ => 0%Q end.
Definition after (p : poly) : poly := match p with (_, ([], [])) :: r => r | _ => p end.
(** Whether a multiple of p is an integer plus a fraction, so that p is not 0 *)
Definition between_integers (c : ctx) (p : poly) : bool :=
  let rest := after p in
  let den := fold_right (fun cm d => Z.lcm (Zpos (Qden (fst cm))) d) 1%Z rest in
  let g := fold_right (fun cm d => Z.gcd (Qnum (Qred (fst cm * inject_Z den))) d) 0%Z rest in
  let scale := if Z.eqb g 0 then 1%Q else Qred (inject_Z den * Qinv (inject_Z g)) in
  if match rest with [] => true | _ => false end then negb (Qeq_bool (start p) 0)
  else negb (q_int (Qred (start p * scale))) && intp K c (pscale scale rest).
Definition ndelta (c : ctx) (a b : tm) : poly :=
  match fin c (minus (N c a) (N c b)) with
  | [] => pconst 1
  | d => if between_integers c d then [] else patom (Delta (to_tm (monic d)) (Num 0 1))
  end.

Definition nlog (c : ctx) (p : poly) : poly :=
  match p with
  | [(q, ([], []))] => if Qeq_bool q 1 then [] else patom (Fn Fln (to_tm p))
  | [(q, ([], [(Fn Fexp a, 1%nat)]))] =>
      if Qeq_bool q 1 then N c a else patom (Fn Fln (to_tm p))
  | _ => patom (Fn Fln (to_tm p))
  end.

Definition abs_atom (c : ctx) (t : tm) : poly :=
  if is_nn (sgn K c t) then patom t
  else match t with
    | Inv u => if is_nn (sgn K c u) then patom t else patom (Inv (Fn Fabs u))
    | _ =>
        let m := fin c (pscale (-1) (N c t)) in
        if is_nn (sgn K c (to_tm m)) then m else patom (Fn Fabs t)
    end.
Fixpoint abs_fs (c : ctx) (fs : list (tm * nat)) : poly :=
  match fs with
  | [] => pconst 1
  | (t, k) :: r =>
      pmul (if Nat.even k then ppow (patom t) k else ppow (abs_atom c t) k) (abs_fs c r)
  end.
Definition nabs (c : ctx) (p : poly) : poly :=
  if is_nn (sgn K c (to_tm p)) || all_nn c p then p
  else
    let m := fin c (pscale (-1) p) in
    if is_nn (sgn K c (to_tm m)) || all_nn c m then m
    else match p with
      | [(q, ([], fs))] => pscale (q_abs q) (abs_fs c fs)
      | _ => pscale (q_abs (lead p)) (patom (Fn Fabs (to_tm (monic p))))
      end.

Definition root_atom (c : ctx) (t : tm) : poly :=
  match t with Inv u => patom (Inv (Fn Fsqrt u)) | _ => patom (Fn Fsqrt t) end.
(** The factors outside of the root, and those under it *)
Fixpoint root_fs (c : ctx) (fs : list (tm * nat)) : poly * list (tm * nat) :=
  match fs with
  | [] => (pconst 1, [])
  | (t, k) :: r =>
      let (out, kept) := root_fs c r in
      if is_nn (sgn K c t) then (pmul (ppow (root_atom c t) k) out, kept)
      else
        let a := ppow (abs_atom c t) (Nat.div2 k) in
        (pmul a out, if Nat.odd k then finsert t 1 kept else kept)
  end.
Definition nsqrt (c : ctx) (p : poly) : poly :=
  match p with
  | [] => []
  | [(q, ([], fs))] =>
      let (out, kept) := root_fs c fs in
      let s := if Z.ltb (Qnum q) 0 then (-1)%Q else 1%Q in
      let root := match kept with
        | [] => if Z.ltb (Qnum q) 0 then [] else pconst 1
        | _ => patom (Fn Fsqrt (fs_tm s kept))
        end in
      pmul (pmul (sqrt_q (q_abs q)) out) root
  | _ =>
      let l := q_abs (lead p) in
      pmul (sqrt_q l) (patom (Fn Fsqrt (to_tm (pscale (Qinv l) p))))
  end.

(** The polynomial divided by pi, if pi is a factor of all of it *)
Fixpoint turns (p : poly) : option poly :=
  match p with
  | [] => Some []
  | (q, (ss, fs)) :: r =>
      if Nat.eqb (fget Pi fs) 1
      then match turns r with Some t => Some ((q, (ss, fdel Pi fs)) :: t) | None => None end
      else None
  end.
Definition half : Q := Qmake 1 2.
Definition cos_turns (c : ctx) (p : poly) : option Q :=
  if intp K c (fin c (minus p (pconst half))) then Some 0%Q
  else if intp K c (pscale half p) then Some 1%Q
  else if intp K c (pscale half (fin c (minus p (pconst 1)))) then Some (-1)%Q else None.
Definition trig_value (c : ctx) (f : fname) (p : poly) : option Q :=
  match turns p with
  | Some t =>
      match f with
      | Fcos => cos_turns c t
      | Fsin => cos_turns c (fin c (minus t (pconst half)))
      | _ => None
      end
  | None => None
  end.
Definition ntrig (c : ctx) (f : fname) (p : poly) : poly :=
  match p with
  | [] => match f with Fcos => pconst 1 | Fsin => [] | _ => patom (Fn f (to_tm p)) end
  | (q, _) :: _ =>
      match trig_value c f p with
      | Some v => pconst v
      | None =>
          if Z.ltb (Qnum q) 0
          then match f with
            | Fcos => patom (Fn f (to_tm (pscale (-1) p)))
            | Fsin => pscale (-1) (patom (Fn f (to_tm (pscale (-1) p))))
            | _ => patom (Fn f (to_tm p))
            end
          else patom (Fn f (to_tm p))
      end
  end.

Definition q_floor (q : Q) : Q := inject_Z (Z.div (Qnum q) (Zpos (Qden q))).
Fixpoint whole (c : ctx) (p : poly) : poly :=
  match p with
  | [] => []
  | (q, m) :: r => if intm K c m then pmerge (pscale (q_floor q) [(1%Q, m)]) (whole c r) else whole c r
  end.
Fixpoint denominators (p : poly) : list tm :=
  match p with
  | [] => []
  | (_, ([], fs)) :: r =>
      flat_map (fun tk => match tk with (Inv u, 1%nat) => [u] | _ => [] end) fs ++ denominators r
  | _ :: r => denominators r
  end.
Definition proper (c : ctx) (p : poly) : bool :=
  match literal p with
  | Some q => Z.leb 0 (Qnum q) && Z.ltb (Qnum q) (Zpos (Qden q))
  | None =>
      existsb (fun u => is_pos (sgn K c u) && intp K c (N c u)
        && within c (to_tm (fin c (psimp c (pmul p (patom u))))) u) (denominators p)
  end.
Definition nfloor (c : ctx) (p : poly) : poly :=
  let w := whole c p in
  let rest := fin c (minus p w) in
  if proper c rest then w else pmerge w (patom (Fn Ffloor (to_tm rest))).

Definition nextremum (c : ctx) (big : bool) (a b : tm) : poly :=
  let p := P c a in let q := P c b in
  if nn c (fin c (minus q p)) then if big then q else p
  else if nn c (fin c (minus p q)) then if big then p else q
  else
    let s := to_tm p in let t := to_tm q in
    let (s, t) := if tlt s t then (s, t) else (t, s) in
    patom (if big then Max s t else Min s t).

Definition nrpow (c : ctx) (a b : tm) : poly :=
  let p := P c a in let e := P c b in
  match literal e with
  | Some q =>
      if Pos.eqb (Qden (Qred q)) 1 then pzpow c p (Qnum (Qred q))
      else if is_pos (sgn K c (to_tm p)) then pexp c (fin c (psimp c (pmul e (nlog c p))))
      else patom (RPow (to_tm p) (to_tm e))
  | None =>
      if is_pos (sgn K c (to_tm p)) then pexp c (fin c (psimp c (pmul e (nlog c p))))
      else patom (RPow (to_tm p) (to_tm e))
  end.

Definition nfn (c : ctx) (f : fname) (a : tm) : poly :=
  let p := P c a in
  match f with
  | Fexp => pexp c p
  | Fln => nlog c p
  | Fsqrt => nsqrt c p
  | Fabs => nabs c p
  | Ffloor => nfloor c p
  | _ => ntrig c f p
  end.

(** Linearity of the expectation: what is not random leaves it. *)
Fixpoint moving (fs : list (tm * nat)) : list (tm * nat) :=
  match fs with [] => [] | (t, k) :: r => if still t then moving r else (t, k) :: moving r end.
Fixpoint resting (fs : list (tm * nat)) : list (tm * nat) :=
  match fs with [] => [] | (t, k) :: r => if still t then (t, k) :: resting r else resting r end.
Definition expect_m (m : mono) : mono :=
  match moving (snd m) with
  | [] => m
  | fs => (fst m, finsert (Exp_ (fs_tm 1 fs)) 1 (resting (snd m)))
  end.
Fixpoint nexpect (p : poly) : option poly :=
  match p with
  | [] => Some []
  | (q, m) :: r =>
      if forallb still (fst m)
      then match nexpect r with Some l => Some ((q, expect_m m) :: l) | None => None end
      else None
  end.

(** Applications: their arguments in normal form *)
Fixpoint nhead (c : ctx) (h : tm) : tm :=
  match h with
  | Ap g a => Ap (nhead c g) (to_tm (P c a))
  | ApV g n b => let n' := to_tm (P c n) in ApV (nhead c g) n' (to_tm (P (CIdx n' :: c) b))
  | _ => h
  end.

Definition norm1 (c : ctx) (t : tm) : poly :=
  match t with
  | Num p q => pconst (Qred (Qmake p q))
  | Add a b => pmerge (N c a) (N c b)
  | Mul a b => psettle c (psimp c (pmul (N c a) (N c b)))
  | Opp a => pscale (-1) (N c a)
  | Inv a => psimp c (pinv c (P c a))
  | Pow a k => psettle c (psimp c (ppow (N c a) k))
  | Fn f a => psimp c (nfn c f a)
  | Max a b => nextremum c true a b
  | Min a b => nextremum c false a b
  | RPow a b => psimp c (nrpow c a b)
  | Delta a b => ndelta c a b
  | TSum n b => nsum c n b
  | TProd n b => nproduct c n b
  | Exp_ b => match nexpect (N (forget c) b) with Some p => psimp c p | None => patom t end
  | Val h => patom (Val (nhead c h))
  | TDet n h => patom (ndet c n h)
  | _ => patom t
  end.
End Step.

Fixpoint norm (f : nat) (K : known) (c : ctx) (t : tm) : poly :=
  match f with O => patom t | S g => norm1 K (norm g K) c t end.
