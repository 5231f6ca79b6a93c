"""What strangers do: names, sizes, values and clocks that nobody here has chosen."""
