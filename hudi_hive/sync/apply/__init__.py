"""Applies a sync plan to the metastore, by Thrift or by HiveQL statements."""
