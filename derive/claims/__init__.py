"""The claims of the notes, one module per topic, each a script that can be run by itself."""

#: The two notes, by the names under which results refer to them.
DERIVATIONS = "000_935e8c08fa86bec0.txt"
INTERVIEW = "002_a5704eef18f0c1f0.txt"
#: What claims about the implementation refer to, instead of a place of a note.
NUMERIC = "numeric"
