"""Which stored profiles predictions use: usable ones, no outliers, one owner of each pair."""
