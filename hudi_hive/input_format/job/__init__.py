"""The keys and input paths of a Hive job: ``hoodie.*.consume.*``, path classification and listing."""
