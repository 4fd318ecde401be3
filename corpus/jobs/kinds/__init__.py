"""The kinds of jobs, one module each."""

from collections.abc import Mapping

from corpus.jobs.kinds.base import JobKind
from corpus.jobs.kinds.collection_map import MapKind
from corpus.jobs.kinds.crawl import CrawlKind
from corpus.jobs.kinds.edit import EditKind
from corpus.jobs.kinds.embed import EmbedKind
from corpus.jobs.kinds.reembed import ReembedKind
from corpus.jobs.kinds.source import SourceKind
from corpus.jobs.kinds.sync import SyncKind
from corpus.models import Job

KINDS: Mapping[str, JobKind] = {
    Job.Kind.SYNC: SyncKind(),
    Job.Kind.EMBED: EmbedKind(),
    Job.Kind.REEMBED: ReembedKind(),
    Job.Kind.MAP: MapKind(),
    Job.Kind.EDIT: EditKind(),
    Job.Kind.SOURCE: SourceKind(),
    Job.Kind.CRAWL: CrawlKind(),
}


def kind_of(job: Job) -> JobKind:
    """Return the kind of a job."""
    return KINDS[job.kind]
