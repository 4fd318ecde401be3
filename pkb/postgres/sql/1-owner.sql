-- Makes the tables' owner and the database on a server of one's own, which is run by a superuser:
--   OWNER_PASSWORD=... ROLE_PASSWORD=... psql --set ON_ERROR_STOP=1 \
--     --file pkb/postgres/sql/1-owner.sql --file pkb/postgres/sql/2-application.sql
-- It owns its database and nothing else: an injected statement runs no program and reads no file.
\getenv password OWNER_PASSWORD
CREATE ROLE pkb LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'password';
CREATE DATABASE pkb OWNER pkb;
REVOKE ALL ON DATABASE pkb FROM PUBLIC;
\connect pkb
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- pgvector lets only a superuser do so.
CREATE EXTENSION vector;
