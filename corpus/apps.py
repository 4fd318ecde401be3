from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


class CorpusConfig(AppConfig):
    name = "corpus"
    verbose_name = "Knowledge base"

    def ready(self) -> None:
        from corpus import erasure  # noqa: F401, PLC0415  (its receivers connect themselves)
        from corpus.catalogue import ensure_default_collection  # noqa: PLC0415
        from corpus.loaders import registry  # noqa: PLC0415

        registry.register(settings.PKB_LOADERS)
        post_migrate.connect(ensure_default_collection, sender=self)
