"""What instants' files hold: commit metadata and the plans of services, decoded and encoded (Avro or JSON)."""
