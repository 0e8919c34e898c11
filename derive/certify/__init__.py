"""Certificates: the proof logs as theorems that Coq accepts, without the program's own kernel."""
