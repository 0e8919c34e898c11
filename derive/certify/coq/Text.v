(** Texts of printable characters as lists of numbers.

    Eleven characters, digits of base 94, are nine bytes, both with the least significant first;
    the bytes are deflated (RFC 1951).  What is read need not be believed, so that nothing is proved of it. *)
Require Import NArith PArith List Bool.
Require Import Coq.Init.Byte Coq.Strings.Byte.
Import ListNotations.
Local Open Scope N_scope.

Inductive blob := Blob (l : list byte).
Definition unblob (b : blob) : list byte := match b with Blob l => l end.
Declare Scope blob_scope.
Delimit Scope blob_scope with blob.
String Notation blob Blob unblob : blob_scope.
Bind Scope blob_scope with blob.

(** ** Characters as bits, the least significant of a word first *)
Fixpoint bits_of (p : positive) (k : nat) (r : list bool) : list bool :=
  match k, p with
  | O, _ => r
  | S j, xO q => false :: bits_of q j r
  | S j, xI q => true :: bits_of q j r
  | S j, xH => true :: repeat false j ++ r
  end.
(** The space is there for the quotation mark. *)
Definition digit (b : byte) : N := let n := Byte.to_N b in if n =? 32 then 1 else n - 33.
Fixpoint bits (l : list byte) : list bool :=
  match l with
  | a :: b :: c :: d :: e :: f :: g :: h :: i :: j :: k :: r =>
      match fold_right (fun x n => digit x + 94 * n) 0 [a; b; c; d; e; f; g; h; i; j; k] with
      | 0 => repeat false 72 ++ bits r
      | Npos p => bits_of p 72 (bits r)
      end
  | _ => []
  end.

(** ** Canonical codes, given by the lengths of the words *)
Inductive code := NoWord | Word (symbol : N) | Fork (zero one : code).
Definition with_length (k : N) (lengths : list N) : list (N * N) :=
  flat_map (fun '(s, n) => if n =? k then [(k, s)] else [])
    (combine (map N.of_nat (seq 0 (length lengths))) lengths).
(** The words in order, each at its depth *)
Fixpoint tree_of (fuel : nat) (depth : N) (l : list (N * N)) : code * list (N * N) :=
  match fuel, l with
  | S f, (n, s) :: r =>
      if n =? depth then (Word s, r)
      else
        let (a, l') := tree_of f (depth + 1) l in
        let (b, l'') := tree_of f (depth + 1) l' in (Fork a b, l'')
  | _, _ => (NoWord, l)
  end.
Definition code_of (lengths : list N) : code :=
  fst (tree_of 17 0 (flat_map (fun k => with_length (N.of_nat k) lengths) (seq 1 15))).
Fixpoint word (c : code) (l : list bool) : N * list bool :=
  match c, l with
  | Word s, _ => (s, l)
  | Fork a b, x :: r => word (if x then b else a) r
  | _, _ => (999, [])
  end.
Fixpoint take (k : nat) (l : list bool) : N * list bool :=
  match k, l with
  | S j, b :: r => let (n, r') := take j r in ((if b then N.succ_double n else N.double n), r')
  | _, _ => (0, l)
  end.

(** ** What has been read: by place, and the latest first *)
Inductive tree := Leaf | Branch (o : N) (l r : tree).
Fixpoint at_ (x : positive) (t : tree) : N :=
  match t with
  | Leaf => 0
  | Branch o l r => match x with xH => o | xO y => at_ y l | xI y => at_ y r end
  end.
Fixpoint put (x : positive) (n : N) (t : tree) : tree :=
  let '(o, l, r) := match t with Leaf => (0, Leaf, Leaf) | Branch o l r => (o, l, r) end in
  match x with
  | xH => Branch n l r
  | xO y => Branch o (put y n l) r
  | xI y => Branch o l (put y n r)
  end.
Record window := { bytes : tree; next : positive; out : list N }.
Definition push (n : N) (w : window) : window :=
  {| bytes := put (next w) n (bytes w); next := Pos.succ (next w); out := n :: out w |}.
Fixpoint copy (k : nat) (from : positive) (w : window) : window :=
  match k with O => w | S j => copy j (Pos.succ from) (push (at_ from (bytes w)) w) end.

(** ** Blocks *)
(** The base and the number of further bits of a length (from 257 on) and of a distance *)
Fixpoint extra (groups : list (nat * nat)) (base : N) : list (N * nat) :=
  match groups with
  | [] => []
  | (count, width) :: r =>
      let at_place k := base + N.of_nat k * 2 ^ N.of_nat width in
      map (fun k => (at_place k, width)) (seq 0 count) ++ extra r (at_place count)
  end.
Definition length_codes : list (N * nat) :=
  Eval compute in extra [(8, 0); (4, 1); (4, 2); (4, 3); (4, 4); (4, 5)]%nat 3.
Definition distance_codes : list (N * nat) :=
  Eval compute in extra ((4, 0) :: map (fun k => (2, k)) (seq 1 13))%nat 1.
Definition further (codes : list (N * nat)) (k : N) (l : list bool) : N * list bool :=
  let (base, width) := nth (N.to_nat k) codes (0, 0%nat) in
  let (n, r) := take width l in (base + n, r).

Fixpoint symbols (fuel : list bool) (words distances : code) (w : window) (l : list bool)
  : window * list bool :=
  match fuel with
  | [] => (w, [])
  | _ :: f =>
      let (s, r) := word words l in
      if s <? 256 then symbols f words distances (push s w) r
      else if s =? 256 then (w, r)
      else
        let (n, r) := if s =? 285 then (258, r) else further length_codes (s - 257) r in
        let (d, r) := word distances r in
        let (d, r) := further distance_codes d r in
        symbols f words distances
          (copy (N.to_nat n) (Pos.sub (next w) (N.succ_pos (d - 1))) w) r
  end.

Definition order : list nat := [16; 17; 18; 0; 8; 7; 9; 6; 10; 5; 11; 4; 12; 3; 13; 2; 14; 1; 15]%nat.
Fixpoint triples (k : nat) (l : list bool) : list N * list bool :=
  match k with
  | O => ([], l)
  | S j => let (n, r) := take 3 l in let (ns, r) := triples j r in (n :: ns, r)
  end.
(** The lengths of words, in reverse order, some of them repeated *)
Fixpoint lengths (fuel : nat) (c : code) (count : nat) (made : list N) (l : list bool)
  : list N * list bool :=
  match fuel with
  | O => (made, l)
  | S f =>
      if Nat.leb count (length made) then (made, l)
      else
        let (s, r) := word c l in
        let again (n : N) width least :=
          let (k, r) := take width r in lengths f c count (repeat n (N.to_nat k + least)%nat ++ made) r
        in
        if s =? 16 then again (hd 0 made) 2%nat 3%nat
        else if s =? 17 then again 0 3%nat 3%nat
        else if s =? 18 then again 0 7%nat 11%nat
        else lengths f c count (s :: made) r
  end.
Definition dynamic (l : list bool) : code * code * list bool :=
  let (a, l) := take 5 l in let (b, l) := take 5 l in let (c, l) := take 4 l in
  let (short, l) := triples (N.to_nat c + 4)%nat l in
  let known k := match find (fun '(p, _) => Nat.eqb p k) (combine order short) with
    Some (_, n) => n | None => 0 end in
  let words := (N.to_nat a + 257)%nat in
  let (ls, l) := lengths 400 (code_of (map known (seq 0 19))) (words + N.to_nat b + 1)%nat [] l in
  (code_of (firstn words (rev ls)), code_of (skipn words (rev ls)), l).
Definition fixed : code * code := Eval compute in
  (code_of (repeat 8 144 ++ repeat 9 112 ++ repeat 7 24 ++ repeat 8 8), code_of (repeat 5 30)).
(** The bits up to the end of a byte, as the end of a text ends one *)
Fixpoint aligned (l : list bool) : nat :=
  match l with _ :: _ :: _ :: _ :: _ :: _ :: _ :: _ :: r => aligned r | _ => length l end.
Fixpoint stored (k : nat) (w : window) (l : list bool) : window * list bool :=
  match k with
  | O => (w, l)
  | S j => let (n, r) := take 8 l in stored j (push n w) r
  end.

(** The bytes, the last one first *)
Fixpoint blocks (fuel : list bool) (w : window) (l : list bool) : list N :=
  match fuel, l with
  | _ :: f, last :: l =>
      let (kind, l) := take 2 l in
      let (w, l) :=
        if kind =? 0 then
          let (n, l) := take 16 (skipn (aligned l) l) in
          stored (N.to_nat n) w (skipn 16 l)
        else
          let '(words, distances, l) :=
            if kind =? 1 then (fixed, l) else dynamic l in
          symbols l words distances w l in
      if last : bool then out w else blocks f w l
  | _, _ => out w
  end.
Definition inflate (l : list bool) : list N :=
  rev_append (blocks l {| bytes := Leaf; next := 1; out := [] |} l) [].

(** ** Bytes as numbers: digits of base 64 from 192 on, then one of base 192 *)
Fixpoint numbers (l : list N) (high : N) (made : list N) : list N :=
  match l with
  | [] => rev_append made []
  | b :: r =>
      if b <? 192 then numbers r 0 (high * 192 + b :: made)
      else numbers r (high * 64 + (b - 192)) made
  end.
(** In pieces, as Coq has no stack for a list that is as long as a text *)
Definition piece : nat := 1000.
Fixpoint pieces (k : nat) (made l : list N) : list (list N) :=
  match l with
  | [] => [rev_append made []]
  | x :: r =>
      match k with
      | O => rev_append made [] :: pieces piece [x] r
      | S j => pieces j (x :: made) r
      end
  end.
Definition text_of (bs : list blob) : list (list N) :=
  pieces piece [] (numbers (inflate (bits (flat_map unblob bs))) 0 []).
