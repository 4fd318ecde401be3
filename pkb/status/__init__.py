"""Status of the service: problems, workers, queue, disks, backups and standby."""
