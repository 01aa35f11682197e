"""The reward of PROVE section 3.3, one pure function a file."""
