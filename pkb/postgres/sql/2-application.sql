-- Creates the role of servers and workers. It owns nothing, so it cannot disable row-level security.
-- The owner grants it the privileges on tables after migrations.
\getenv password ROLE_PASSWORD
\connect pkb
-- The owner may end sessions of this role, but not the reverse.
CREATE ROLE pkb_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'password' ROLE pkb;
GRANT CONNECT ON DATABASE pkb TO pkb_app;
-- Under row-level security, an index is used only with functions marked LEAKPROOF, which only a
-- superuser may do (docs/decisions/0041).
ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF;
ALTER FUNCTION pg_catalog.jsonb_path_exists_opr(jsonb, jsonpath) LEAKPROOF;
ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) LEAKPROOF;
ALTER FUNCTION pg_catalog.jsonb_object_field_text(jsonb, text) LEAKPROOF;
ALTER FUNCTION pg_catalog.lower(text) LEAKPROOF;
-- By default, every role may create large objects, which no policy restricts.
REVOKE EXECUTE ON FUNCTION pg_catalog.lo_create(oid) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_catalog.lo_creat(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_catalog.lo_from_bytea(oid, bytea) FROM PUBLIC;
