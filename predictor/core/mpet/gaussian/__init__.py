"""The Gaussian process over platforms: covariances, kriging, calibration, gaps filled in."""
