"""Connections to a metastore: addresses, time-outs, SASL and TLS, retries, answers checked and counted."""
