"""Which of two records of one key wins: merge modes, payload classes and their properties."""
