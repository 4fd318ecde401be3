SELECT count(*) FROM procrastinate_jobs
 WHERE queue_name IN ('pkb', 'pkb-home') AND priority > -2147483648
   AND (status = 'doing' OR status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now()))
