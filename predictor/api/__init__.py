"""What the API answers about predictions: views and their serializers, a module for each subject."""
