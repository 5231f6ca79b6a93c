"""Builds the artefacts of a release: wheels, source archive, packages for Debian and RPM, SBOM."""
