"""The API of predictions: views and serializers, one module per topic."""
