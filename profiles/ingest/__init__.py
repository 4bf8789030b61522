"""Storage of deliveries: ingest, publication and withdrawal."""
