-- Makes the role by which pkb serves and works. It owns nothing, so that it cannot switch row-level
-- security off; what it may do to which table, the owner grants it when he migrates.
\getenv password ROLE_PASSWORD
\connect pkb
-- The owner may end its sessions; it may not be the owner.
CREATE ROLE pkb_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'password' ROLE pkb;
GRANT CONNECT ON DATABASE pkb TO pkb_app;
-- Under row-level security an index is only asked by functions that are known to tell nothing of
-- the rows that they pass over. Only a superuser may say so (docs/decisions/0041).
ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF;
ALTER FUNCTION pg_catalog.jsonb_path_exists_opr(jsonb, jsonpath) LEAKPROOF;
ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) LEAKPROOF;
ALTER FUNCTION pg_catalog.jsonb_object_field_text(jsonb, text) LEAKPROOF;
ALTER FUNCTION pg_catalog.lower(text) LEAKPROOF;
-- Every role may make large objects else, which no policy bounds.
REVOKE EXECUTE ON FUNCTION pg_catalog.lo_create(oid) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_catalog.lo_creat(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_catalog.lo_from_bytea(oid, bytea) FROM PUBLIC;
