"""``HudiTable`` and ``Scan``: tables as users of the package meet them."""
