-- Makes the application's role and database on a server of one's own, which is run by a superuser:
--   ROLE_PASSWORD=... psql --set ON_ERROR_STOP=1 --file pkb/postgres/role.sql
-- The role owns its database and nothing else: row-level security applies to it, and an injected
-- statement runs no program and reads no file. The extension is made here, because pgvector lets
-- only a superuser do so.
\getenv password ROLE_PASSWORD
CREATE ROLE pkb LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'password';
CREATE DATABASE pkb OWNER pkb;
REVOKE ALL ON DATABASE pkb FROM PUBLIC;
\connect pkb
CREATE EXTENSION vector;
