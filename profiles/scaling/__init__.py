"""From runs to curves, from curves to the feature vector: Table 1 and Eq. 3-9 on numpy arrays, without the web."""
