-- The audit log is append-only, but for the purge of old events.

CREATE OR REPLACE FUNCTION accounts_event_stays() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('pkb.purges_events', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'what was recorded is not changed' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER accounts_event_stays BEFORE DELETE OR UPDATE ON accounts_event FOR EACH ROW EXECUTE FUNCTION accounts_event_stays();
