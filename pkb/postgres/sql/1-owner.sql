-- Creates the owner of the tables and the database on an external server. Run as superuser:
--   OWNER_PASSWORD=... ROLE_PASSWORD=... psql --set ON_ERROR_STOP=1 \
--     --file pkb/postgres/sql/1-owner.sql --file pkb/postgres/sql/2-application.sql
-- The owner owns only its database: injected SQL cannot run programs or read files.
\getenv password OWNER_PASSWORD
CREATE ROLE pkb LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'password';
CREATE DATABASE pkb OWNER pkb;
REVOKE ALL ON DATABASE pkb FROM PUBLIC;
\connect pkb
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- Only a superuser may create this extension.
CREATE EXTENSION vector;
