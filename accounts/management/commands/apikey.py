from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.keys import MAX_DAYS, create_key, revoke_key
from accounts.models import ApiKey
from corpus.access.principal import Scope
from corpus.errors import PkbError


class Command(BaseCommand):
    help = "Create, list and revoke API keys."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a key and print only the key")
        create.add_argument(
            "--user", required=True, help="name of the user that the key belongs to"
        )
        create.add_argument("--name", required=True, help="name of the key, for your own use")
        create.add_argument(
            "--scopes", default=Scope.READ.value, help=f"any of {','.join(Scope)}; default: read"
        )
        create.add_argument("--days", type=int, help="days until it expires; default: never")
        create.add_argument(
            "--from",
            default="",
            dest="networks",
            help="allowed networks, such as 192.0.2.0/24,…",
        )
        create.add_argument(
            "--collections", default="", help="limit the key to collections, such as handbook,…"
        )
        listing = actions.add_parser("list", help="list keys: id, user, name, scopes, state, …")
        listing.add_argument("--user", help="only keys of this user")
        revoke = actions.add_parser("revoke", help="revoke a key")
        revoke.add_argument("id", type=int, help="id of the key, as `list` shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        {"create": self._create, "list": self._list, "revoke": self._revoke}[options["action"]](
            **options
        )

    def _create(self, **options: Any) -> None:
        days = options["days"]
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise CommandError(f"--days: 1 to {MAX_DAYS}")
        users = get_user_model().objects
        user = users.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(
                f"There is no user {options['user']!r}. Run manage.py createsuperuser."
            )
        try:
            _, key = create_key(
                user,
                name=options["name"],
                scopes=_split(options["scopes"]),
                days=days,
                networks=_split(options["networks"]),
                collections=_split(options["collections"]),
            )
        except PkbError as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(key)

    def _list(self, **options: Any) -> None:
        keys = ApiKey.objects.select_related("user")
        for key in keys.filter(user__username=options["user"]) if options["user"] else keys:
            used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never"
            ends = f"{key.expiry:%Y-%m-%d}" if key.expiry else "never"
            fields = [key.pk, key.user.get_username(), key.name, ",".join(key.scopes), key.state]
            self.stdout.write("\t".join([*map(str, fields), f"used {used}", f"expires {ends}"]))

    def _revoke(self, **options: Any) -> None:
        key = ApiKey.objects.filter(pk=options["id"]).first()
        if key is None:
            raise CommandError(f"There is no key {options['id']}. Run manage.py apikey list.")
        revoke_key(key)
        self.stdout.write(f"Revoked: {key.name}.")


def _split(value: str) -> list[str]:
    return [each.strip() for each in value.split(",") if each.strip()]
