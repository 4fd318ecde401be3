"""Status of the service: problems, workers, queue, disks and backups."""
