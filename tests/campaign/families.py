"""All families of faults, by name."""

from tests.campaign import clocks, database, disks, kills, models
from tests.campaign.rounds import Family

FAMILIES: dict[str, Family] = {
    "kills": kills.KILLS,
    "restarts": database.RESTARTS,
    "cuts": database.CUTS,
    "deadlocks": database.DEADLOCKS,
    "full-uploads": disks.UPLOADS,
    "full-data": disks.DATA,
    "full-wal": disks.WAL,
    "read-only": disks.READ_ONLY,
    "clocks": clocks.CLOCKS,
    "embedders": models.EMBEDDERS,
    "language-models": models.LANGUAGE_MODELS,
}
