from django.db import migrations

from corpus.access.policies import (
    MINE,
    OF_COLLECTION,
    OF_NOBODY,
    OWNED,
    READABLE,
    WITH_THIS_KEY,
    WRITABLE,
    Policy,
    put,
    take,
)

# Who acts is the setting pkb.principal, which our connections keep: empty for nobody, * for who
# sees all, 7 for a user, 7:1,2:3 for key 3 that is bound to two collections.
# pkb_granted reads tables that have no policies: else each would ask it again.
FUNCTIONS = """
CREATE FUNCTION pkb_sees_all() RETURNS boolean STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT coalesce(current_setting('pkb.principal', true), '') = '*'
$$;
CREATE FUNCTION pkb_user_of(principal text) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT nullif(split_part(nullif(principal, '*'), ':', 1), '')::bigint
$$;
CREATE FUNCTION pkb_bounds_of(principal text) RETURNS bigint[] IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT CASE WHEN strpos(principal, ':') > 0
              THEN string_to_array(nullif(split_part(principal, ':', 2), ''), ',')::bigint[] END
$$;
CREATE FUNCTION pkb_user_id() RETURNS bigint STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT pkb_user_of(current_setting('pkb.principal', true))
$$;
CREATE FUNCTION pkb_is_bound() RETURNS boolean STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT coalesce(strpos(current_setting('pkb.principal', true), ':'), 0) > 0
$$;
CREATE FUNCTION pkb_key_id() RETURNS bigint STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT nullif(split_part(current_setting('pkb.principal', true), ':', 3), '')::bigint
$$;
CREATE FUNCTION pkb_is_superuser() RETURNS boolean STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM auth_user
                  WHERE id = pkb_user_id() AND is_superuser AND is_active)
$$;
CREATE FUNCTION pkb_granted(principal text, roles text[], publicly boolean) RETURNS bigint[]
STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT coalesce(array_agg(a.collection_id), '{}')
    FROM auth_user me CROSS JOIN corpus_collectionaccess a
   WHERE me.id = pkb_user_of(principal) AND me.is_active
     AND (strpos(principal, ':') = 0 OR a.collection_id = ANY(pkb_bounds_of(principal)))
     AND (a.owner_id = me.id
          OR a.owner_id IS NULL AND me.is_superuser
          OR publicly AND a.is_public
          OR EXISTS (SELECT FROM corpus_grant g
                      WHERE g.collection_id = a.collection_id AND g.role = ANY(roles)
                        AND (g.user_id = me.id OR g.group_id IN (
                             SELECT group_id FROM auth_user_groups WHERE user_id = me.id))))
$$;
CREATE FUNCTION pkb_readable() RETURNS bigint[] STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT pkb_granted(current_setting('pkb.principal', true), '{reader,writer,owner}', true)
$$;
CREATE FUNCTION pkb_writable() RETURNS bigint[] STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT pkb_granted(current_setting('pkb.principal', true), '{writer,owner}', false)
$$;
CREATE FUNCTION pkb_owned() RETURNS bigint[] STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT pkb_granted(current_setting('pkb.principal', true), '{owner}', false)
$$;
"""
NO_FUNCTIONS = """
DROP FUNCTION pkb_owned, pkb_writable, pkb_readable, pkb_granted, pkb_is_superuser, pkb_key_id, pkb_is_bound,
              pkb_user_id, pkb_bounds_of, pkb_user_of, pkb_sees_all;
"""
KEEP_ACCESS = """
CREATE FUNCTION corpus_keep_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM corpus_collectionaccess WHERE collection_id = OLD.id;
  ELSE
    INSERT INTO corpus_collectionaccess (collection_id, owner_id, is_public)
    VALUES (NEW.id, NEW.owner_id, NEW.is_public)
    ON CONFLICT (collection_id) DO UPDATE
      SET owner_id = EXCLUDED.owner_id, is_public = EXCLUDED.is_public;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER corpus_keep_access AFTER INSERT OR UPDATE OF owner_id, is_public OR DELETE
ON corpus_collection FOR EACH ROW EXECUTE FUNCTION corpus_keep_access();
INSERT INTO corpus_collectionaccess (collection_id, owner_id, is_public)
SELECT id, owner_id, is_public FROM corpus_collection;
"""
KEEP_NONE = "DROP FUNCTION corpus_keep_access CASCADE; DELETE FROM corpus_collectionaccess"
# A policy of UPDATE sees the old row only by who may read it, whom FOR KEY SHARE needs, and checks the
# new one: this keeps readers from moving a row away.
STAY = """
CREATE FUNCTION corpus_stay_where_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.collection_id <> OLD.collection_id
     AND NOT (pkb_sees_all() OR OLD.collection_id = ANY (pkb_writable())) THEN
    RAISE EXCEPTION 'row violates row-level security policy: its collection may not be changed'
          USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION corpus_stay_owned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.owner_id IS DISTINCT FROM OLD.owner_id
     AND NOT (pkb_sees_all() OR OLD.id = ANY (pkb_owned())) THEN
    RAISE EXCEPTION 'row violates row-level security policy: its owner may not be changed'
          USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER corpus_stay_owned BEFORE UPDATE OF owner_id ON corpus_collection
FOR EACH ROW EXECUTE FUNCTION corpus_stay_owned();
""" + "".join(
    f"CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON {table}\n"
    "FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();\n"
    for table in (
        "corpus_document", "corpus_chunk", "corpus_embedding", "corpus_tag", "corpus_job",
        "corpus_site", "corpus_watchedfolder", "corpus_termcount", "corpus_collectionmap",
    )
)
LEAVE = "DROP FUNCTION corpus_stay_where_written, corpus_stay_owned CASCADE"
# A tag is of one collection now: who names it anew need not see the others.
TELL_OWN = """
DROP TRIGGER corpus_tell_update ON corpus_tag;
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_tag
REFERENCING NEW TABLE AS changed OLD TABLE AS former
FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
"""
TELL_ALL = """
DROP TRIGGER corpus_tell_update ON corpus_tag;
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_tag
FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_all();
"""

MADE = "owner_id = (SELECT pkb_user_id()) AND NOT (SELECT pkb_is_bound())"
TAGS = "tag_id = ANY (ARRAY(SELECT id FROM corpus_tag{}))"
ON_OWN = Policy(TAGS.format(""), TAGS.format(f" WHERE collection_id = {WRITABLE}"))
POLICIES = {
    # A row that is being made is in no list of those that are there.
    "corpus_collection": Policy(f"{MADE} OR id = {READABLE}", f"{MADE} OR id = {OWNED}"),
    "corpus_document": OF_COLLECTION,
    "corpus_chunk": OF_COLLECTION,
    "corpus_embedding": OF_COLLECTION,
    "corpus_tag": OF_COLLECTION,
    "corpus_document_tags": ON_OWN,
    "corpus_chunktag": ON_OWN,
    # Whose search computes them keeps them.
    "corpus_tokenvectors": Policy.through("corpus_chunk", key="chunk_id"),
    "corpus_termcount": OF_COLLECTION,
    "corpus_collectionchange": OF_COLLECTION,
    "corpus_collectionmap": OF_COLLECTION,
    "corpus_site": OF_COLLECTION,
    "corpus_sitepage": Policy.through(
        "corpus_site", key="site_id", write=f"parent.collection_id = {WRITABLE}"
    ),
    "corpus_watchedfolder": OF_COLLECTION,
    # Errors and items name files and documents: readers see those of their own jobs.
    "corpus_job": Policy(
        f"collection_id = {WRITABLE}"
        f" OR made_by_id = (SELECT pkb_user_id()) AND collection_id = {READABLE}",
        f"collection_id = {WRITABLE}",
    ),
    "corpus_jobitem": Policy.through(
        "corpus_job", key="job_id", write=f"parent.collection_id = {WRITABLE}"
    ),
    "corpus_idempotentrequest": Policy.both(f"{MINE} AND {WITH_THIS_KEY}"),
    "corpus_rule": OF_NOBODY,
    "corpus_tombstone": OF_NOBODY,
}


class Migration(migrations.Migration):

    dependencies = [("corpus", "0027_own_tags")]

    operations = [
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        migrations.RunSQL(KEEP_ACCESS, KEEP_NONE),
        migrations.RunSQL(TELL_OWN, TELL_ALL),
        migrations.RunSQL(STAY, LEAVE),
        migrations.RunSQL(put(POLICIES), take(POLICIES)),
    ]
