"""Tests of what command lines share."""
