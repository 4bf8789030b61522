"""Selection of the stored profiles that predictions use: usable ones, no outliers, one owner of each pair."""
