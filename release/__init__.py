"""What makes and ships a release: the files of ``make dist``."""
