
INSERT INTO public.auth_user (id, password, last_login, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined) VALUES
	(1, 'pbkdf2_sha256$1000000$DwU9tR7d05yrpMLTleVNez$i3EY8GY2rxIK+0OTCDYcMz71cpuc+oTUkGEO5ABzc3E=', NULL, true, 'ada', '', '', 'ada@example.org', true, true, '2026-11-23 12:42:56.925776+00');

INSERT INTO public.corpus_collection (id, name, description, embedding_model, dimension, distance, chunk_strategy, chunk_size, chunk_overlap_sentences, chunk_unit, created_at, updated_at, chunk_overlap, language, previous_dimension, previous_model) VALUES
	(1, 'default', '', 'hashing-64', 64, 'cosine', 'auto', 200, 1, 'tokens', '2026-11-23 12:42:40.208887+00', '2026-11-23 12:42:40.209104+00', 0, 'english', NULL, ''),
	(2, 'german', '', 'hashing-64', 64, 'cosine', 'auto', 200, 1, 'tokens', '2026-11-23 12:42:48.80312+00', '2026-11-23 12:42:48.908596+00', 0, 'german', 32, 'hashing-32');

INSERT INTO public.corpus_document (id, source_uri, source, title, media_type, raw_text, outline, content_sha256, metadata, chapter, section, word_count, char_count, chunk_count, status, error, file_path, file_hash, last_modified, user_created_at, ingested_at, created_at, updated_at, collection_id, settings_sha256) VALUES
	('903ae28c-6ab2-4b09-97d8-25b0a6ba5ea5', 'https://example.org/bavoke', '', 'Bavoke, \ "quoted"; 😀', 'text/plain', 'The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. Its lamp burns rapeseed oil and is seen from nineteen nautical miles away. The tower is thirty-one metres tall and stands on black basalt.

Every evening the keeper climbs 212 steps to wind the clockwork of the lens. A second keeper writes the weather into a green book.', '{"pages": [], "headings": []}', 'd5d3c707a0dc314903d104e6c4a7ed0feb1007cafac4da758fde467407d9a730', '{"note": "Tab\t"}', '', '', 61, 344, 1, 'completed', '', '', '', NULL, '1999-12-31 23:59:59+00', '2026-11-23 12:42:47.060681+00', '2026-11-23 12:42:47.06064+00', '2026-11-23 12:42:47.060991+00', 1, ''),
	('1327200e-d67c-4d07-864a-ebe5f4568521', 'file:///srv/notes/bakery.md', 'cli', 'Lindow', 'text/markdown', '# Lindow

## The bakery

The bakery in Lindow opens at five in the morning. It bakes rye bread with caraway, and sells the first loaves to the fishermen before sunrise. On Mondays it is closed.', '{"pages": [], "headings": [[0, 8, 1, "Lindow"], [10, 23, 2, "The bakery"]]}', '4cd52190ca23e34eb3e3f33d85c0b4038f8d90ac00933abaaf551e484c3c48d0', '{}', '', '', 36, 193, 1, 'completed', '', '/srv/notes/bakery.md', '4cd52190ca23e34eb3e3f33d85c0b4038f8d90ac00933abaaf551e484c3c48d0', '2026-11-23 12:42:47.241912+00', NULL, '2026-11-23 12:42:47.846452+00', '2026-11-23 12:42:47.42853+00', '2026-11-23 12:42:47.846567+00', 1, '27352c45dd116778bf437b498ecce65d40fb4afd2f58ed079f1e1e1be4fbb7c7'),
	('595c696b-280f-48d9-912d-85fd955808ce', 'file:///srv/notes/broken.pdf', 'cli', '', 'text/plain', '', '{}', '', '{}', '', '', 0, 0, 0, 'failed', 'The PDF is damaged or truncated: Failed to load document (PDFium: Data format error).', '/srv/notes/broken.pdf', 'b2bed3deb3314285317cdb6a67db6ae7fa0c7a37d8af13ae15996fae933cb815', NULL, NULL, NULL, '2026-11-23 12:42:47.428572+00', '2026-11-23 12:42:47.42887+00', 1, '27352c45dd116778bf437b498ecce65d40fb4afd2f58ed079f1e1e1be4fbb7c7'),
	('13ef4f5f-1fff-4671-b128-20700ed22a7e', '', '', '', 'text/plain', 'Der Leuchtturm von Bavoke wurde 1874 gebaut.', '{"pages": [], "headings": []}', '46471621469902d3191ff31967b45ff82a0ce130dd80cb9cf80d36140e3df155', '{}', '', '', 7, 44, 1, 'completed', '', '', '', NULL, NULL, '2026-11-23 12:42:48.828474+00', '2026-11-23 12:42:48.828451+00', '2026-11-23 12:42:48.828638+00', 2, '');

INSERT INTO public.corpus_chunk (id, ordinal, start_char, end_char, text, context, chunk_sha256, token_count, heading_path, heading_level, page, metadata, created_at, collection_id, document_id, language, ngrams) VALUES
	('bc75184b-0f2a-474d-a919-e7515bf479a9', 0, 0, 344, 'The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. Its lamp burns rapeseed oil and is seen from nineteen nautical miles away. The tower is thirty-one metres tall and stands on black basalt.

Every evening the keeper climbs 212 steps to wind the clockwork of the lens. A second keeper writes the weather into a green book.', 'Bavoke, \ "quoted"; 😀', 'd5d3c707a0dc314903d104e6c4a7ed0feb1007cafac4da758fde467407d9a730', 62, '{}', NULL, NULL, '{}', '2026-11-23 12:42:47.066554+00', 1, '903ae28c-6ab2-4b09-97d8-25b0a6ba5ea5', 'english', ''),
	('ffd0f241-306a-4b4e-add0-8555051c32ac', 0, 0, 193, '# Lindow

## The bakery

The bakery in Lindow opens at five in the morning. It bakes rye bread with caraway, and sells the first loaves to the fishermen before sunrise. On Mondays it is closed.', 'Lindow > The bakery', '4cd52190ca23e34eb3e3f33d85c0b4038f8d90ac00933abaaf551e484c3c48d0', 34, '{Lindow,"The bakery"}', 2, NULL, '{}', '2026-11-23 12:42:47.856195+00', 1, '1327200e-d67c-4d07-864a-ebe5f4568521', 'english', ''),
	('702220ca-64f0-4a15-8e65-43fab7774225', 0, 0, 44, 'Der Leuchtturm von Bavoke wurde 1874 gebaut.', '', '46471621469902d3191ff31967b45ff82a0ce130dd80cb9cf80d36140e3df155', 7, '{}', NULL, NULL, '{}', '2026-11-23 12:42:48.832196+00', 2, '13ef4f5f-1fff-4671-b128-20700ed22a7e', 'german', '');

INSERT INTO public.corpus_tag (id, name) VALUES
	(1, 'coast'),
	(2, 'light'),
	(3, 'town');

INSERT INTO public.corpus_chunktag (id, chunk_id, tag_id) VALUES
	(1, 'bc75184b-0f2a-474d-a919-e7515bf479a9', 1),
	(2, 'bc75184b-0f2a-474d-a919-e7515bf479a9', 2),
	(3, 'ffd0f241-306a-4b4e-add0-8555051c32ac', 3);

INSERT INTO public.corpus_collectionmap (id, model, points, variance_share, computed_at, collection_id) VALUES
	(1, 'hashing-64', '[{"x": 0.9776, "y": 1.0, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9"}, {"x": 0.0, "y": 0.483, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359"}, {"x": 1.0, "y": 0.0, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac"}]', 0.9999999999999997, '2026-11-23 12:42:48.603697+00', 1);

INSERT INTO public.corpus_document_tags (id, document_id, tag_id) VALUES
	(1, '903ae28c-6ab2-4b09-97d8-25b0a6ba5ea5', 1),
	(2, '903ae28c-6ab2-4b09-97d8-25b0a6ba5ea5', 2),
	(3, '1327200e-d67c-4d07-864a-ebe5f4568521', 3);

INSERT INTO public.corpus_embedding (id, model, dimension, input_sha256, vector, created_at, chunk_id, collection_id) VALUES
	(1, 'hashing-64', 64, '72b4dbad206fd341c398ec96e93b9a153b2970f3ee9bfc85a3d77e0755cfd0fc', '[0,0.10540926,0,0,0,0.21081851,0,0,0,0.10540926,0,0,0,0,0,0.10540926,0.10540926,0.10540926,0.10540926,0,0,0,0.10540926,-0.52704626,0,0,0.10540926,0,0,0.10540926,-0.10540926,0,0.10540926,0.21081851,-0.10540926,0.10540926,0.10540926,-0.21081851,-0.10540926,-0.21081851,0.31622776,-0.31622776,0.10540926,0,-0.10540926,0.10540926,-0.10540926,0,0.10540926,0.10540926,0.10540926,0,0,0.10540926,0,0,-0.10540926,0.21081851,-0.10540926,0.10540926,0.10540926,0,0,0]', '2026-11-23 12:42:47.070945+00', 'bc75184b-0f2a-474d-a919-e7515bf479a9', 1),
	(3, 'hashing-64', 64, '0252f6ea8e27e0303bede3a275a92922da64e1916ca972b6338f45b72de06104', '[0,0,0,0,0,0,-0.20306924,0,0,0,0,0,0,0,0,-0.10153462,0,0.20306924,0,0,0.10153462,0.20306924,0,-0.6092077,0,0,0,0,-0.30460384,0,0,-0.10153462,0,0,0,0,0,0,0,0,0.10153462,-0.30460384,0,0,0,0.10153462,0,0.30460384,0,0,0,0,0.10153462,-0.10153462,-0.10153462,0.20306924,-0.10153462,0,0,-0.20306924,0,-0.20306924,0.10153462,0]', '2026-11-23 12:42:47.864899+00', 'ffd0f241-306a-4b4e-add0-8555051c32ac', 1),
	(4, 'hashing-32', 32, '46471621469902d3191ff31967b45ff82a0ce130dd80cb9cf80d36140e3df155', '[0,0,-0.33333334,0,0,0,0,0,0.33333334,0,0,0,0,0,-0.6666667,0,0,0,0,0,0,0,0,0,0,-0.33333334,-0.33333334,0,-0.33333334,0,0,0]', '2026-11-23 12:42:48.833522+00', '702220ca-64f0-4a15-8e65-43fab7774225', 2),
	(5, 'hashing-64', 64, '46471621469902d3191ff31967b45ff82a0ce130dd80cb9cf80d36140e3df155', '[0,0,-0.37796447,0,0,0,0,0,0,0,0,0,0,0,-0.37796447,0,0,0,0,0,0,0,0,0,0,-0.37796447,0,0,-0.37796447,0,0,0,0,0,0,0,0,0,0,0,0.37796447,0,0,0,0,0,-0.37796447,0,0,0,0,0,0,0,0,0,0,0,-0.37796447,0,0,0,0,0]', '2026-11-23 12:42:48.873122+00', '702220ca-64f0-4a15-8e65-43fab7774225', 2);

INSERT INTO public.corpus_idempotentrequest (id, key, request_sha256, status, body, created_at) VALUES
	(1, 'of one that stays', '244032d3e67c54bbdfafde6b4e736677242f16ef78a5693379ac0ac62c4b13e2', 201, '{"tags": ["coast", "light"], "chunk_ids": ["bc75184b-0f2a-474d-a919-e7515bf479a9"], "collection": "default", "chunk_count": 1, "document_id": "903ae28c-6ab2-4b09-97d8-25b0a6ba5ea5"}', '2026-11-23 12:42:47.137759+00'),
	(2, 'of one that is deleted', '23c47567b15e1935000ce227564a1f84d34c4f2295155d26db1d2f4d04941d90', 201, '{"tags": [], "chunk_ids": ["f9349690-eca0-460a-b530-6b1a95e3a359"], "collection": "default", "chunk_count": 1, "document_id": "b081781b-a7b3-4bd4-8e83-a3b80159e982"}', '2026-11-23 12:42:47.228636+00');

INSERT INTO public.corpus_job (id, kind, status, stage, total, done, failed, errors, arguments, is_background, is_listed, start_count, created_at, started_at, finished_at, collection_id) VALUES
	('6b47e279-7d07-4ea7-b9b4-6f4dc7689c9b', 'sync', 'failed', 'ended', 2, 1, 1, '[{"path": "/srv/notes/broken.pdf", "reason": "The PDF is damaged or truncated: Failed to load document (PDFium: Data format error)."}]', '{"tags": ["town"], "force": false, "paths": ["/srv/notes"], "mirror": false, "source": "cli", "batch_size": 100}', false, true, 1, '2026-11-23 12:42:47.348471+00', '2026-11-23 12:42:47.356756+00', '2026-11-23 12:42:48.475106+00', 1),
	('3ea69d74-d4bb-4b06-9d74-e6bad15566a1', 'map', 'succeeded', 'ended', 1, 1, 0, '[]', '{}', true, true, 1, '2026-11-23 12:42:48.528379+00', '2026-11-23 12:42:48.567875+00', '2026-11-23 12:42:48.740087+00', 1),
	('0055b2cc-4b3f-45b0-b304-a7f83f057a32', 'reembed', 'succeeded', 'ended', 1, 1, 0, '[]', '{"model": "hashing-64"}', true, true, 1, '2026-11-23 12:42:48.852145+00', '2026-11-23 12:42:48.860212+00', '2026-11-23 12:42:48.886152+00', 2);

INSERT INTO public.corpus_jobitem (id, path, status, outcome, attempts, reason, document_id, chunk_count, encoded_count, runner, ended_at, job_id, stage) VALUES
	(1, '/srv/notes/bakery.md', 'done', 'added', 1, '', '1327200e-d67c-4d07-864a-ebe5f4568521', 1, 1, 1476239987, '2026-11-23 12:42:47.908282+00', '6b47e279-7d07-4ea7-b9b4-6f4dc7689c9b', 'parsing'),
	(2, '/srv/notes/broken.pdf', 'failed', 'failed', 1, 'The PDF is damaged or truncated: Failed to load document (PDFium: Data format error).', NULL, 0, 0, 1476239987, '2026-11-23 12:42:48.376276+00', '6b47e279-7d07-4ea7-b9b4-6f4dc7689c9b', 'parsing'),
	(3, 'default', 'done', 'replaced', 1, '', NULL, 0, 0, 1316010625, '2026-11-23 12:42:48.633057+00', '3ea69d74-d4bb-4b06-9d74-e6bad15566a1', 'parsing'),
	(4, '13ef4f5f-1fff-4671-b128-20700ed22a7e', 'done', 'replaced', 1, '', '13ef4f5f-1fff-4671-b128-20700ed22a7e', 0, 1, 1260307056, '2026-11-23 12:42:48.877186+00', '0055b2cc-4b3f-45b0-b304-a7f83f057a32', 'parsing');

INSERT INTO public.evaluation_question (id, text, answers, quote, start_char, end_char, content_sha256, state, origin, created_at, decided_at, collection_id, document_id) VALUES
	('28b03e8f-285b-45d1-ae9c-42b1e95ba857', 'Who built the lighthouse at Bavoke?', '["The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill."]', 'The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill.', 0, 73, 'd5d3c707a0dc314903d104e6c4a7ed0feb1007cafac4da758fde467407d9a730', 'accepted', 'feedback', '2026-11-23 12:42:56.904727+00', '2026-11-23 12:42:56.904608+00', 1, '903ae28c-6ab2-4b09-97d8-25b0a6ba5ea5');

INSERT INTO public.qa_answer (id, question, text, confidence, answerer, embedding_model, configuration_sha256, steps, created_at, collection_id) VALUES
	('ee41930a-31cc-4dcf-9693-545e512c9163', 'Who built the lighthouse at Bavoke?', 'The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill.', 0.8676256683336713, 'extractive', 'hashing-64', 'c8895966dc12630cae127204dc4c1f90c73e702a1801a66c2a6994c737011d28', '[{"ms": 11.95, "name": "parse", "searched": "Who built the lighthouse at Bavoke?"}, {"ms": 38.65, "name": "retrieve", "passages": [{"score": 1.0, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": null}, {"score": 0.2694, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": null}, {"score": 0.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": null}]}, {"ms": 1085.02, "name": "rerank", "passages": [{"score": 1.0, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": 0.9215760827064514}, {"score": 0.2128, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": 0.7191514372825623}, {"score": 0.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": 0.6894760727882385}]}, {"ms": 1934.11, "name": "answer", "note": "", "cited": ["S1"], "answerer": "extractive"}, {"ms": 49.03, "name": "cite", "citations": 1, "confidence": 0.8676256683336713}]', '2026-11-23 12:42:54.764178+00', 1),
	('4a51a5cd-07ab-4830-a4b5-5cebdc87b767', 'How often does the ferry of Orrow cross?', 'The ferry of Orrow crosses twice a day, and never on Sundays.', 0.8112363081761812, 'extractive', 'hashing-64', 'c8895966dc12630cae127204dc4c1f90c73e702a1801a66c2a6994c737011d28', '[{"ms": 4.28, "name": "parse", "searched": "How often does the ferry of Orrow cross?"}, {"ms": 95.73, "name": "retrieve", "passages": [{"score": 1.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": null}, {"score": 0.002, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": null}, {"score": 0.0, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": null}]}, {"ms": 11.72, "name": "rerank", "passages": [{"score": 1.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": 0.9319190979003906}, {"score": 0.0777, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": 0.7809013724327087}, {"score": 0.0, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": 0.7452104091644287}]}, {"ms": 245.64, "name": "answer", "note": "", "cited": ["S1"], "answerer": "extractive"}, {"ms": 67.84, "name": "cite", "citations": 1, "confidence": 0.8112363081761812}]', '2026-11-23 12:42:55.212992+00', 1),
	('e9865411-921b-4a54-b875-ae60a353ec95', 'Is the moon made of basil?', '', 0.006936582440073719, 'extractive', 'hashing-64', 'c8895966dc12630cae127204dc4c1f90c73e702a1801a66c2a6994c737011d28', '[{"ms": 1.85, "name": "parse", "searched": "Is the moon made of basil?"}, {"ms": 42.49, "name": "retrieve", "passages": [{"score": 1.0, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": null}, {"score": 0.6538, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": null}, {"score": 0.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": null}]}, {"ms": 28.92, "name": "rerank", "passages": [{"score": 1.0, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": 0.7831218838691711}, {"score": 0.6622, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": 0.7646382451057434}, {"score": 0.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": 0.7262950539588928}]}, {"ms": 247.35, "name": "answer", "note": "", "cited": ["S1"], "answerer": "extractive"}, {"ms": 204.92, "name": "cite", "citations": 0, "confidence": 0.006936582440073719}]', '2026-11-23 12:42:55.790311+00', 1),
	('9567322a-b858-40fd-ac4a-b9bea4d3ef5b', 'When does the bakery in Lindow open?', 'The bakery in Lindow opens at five in the morning.', 0.8625206895412838, 'extractive', 'hashing-64', 'c8895966dc12630cae127204dc4c1f90c73e702a1801a66c2a6994c737011d28', '[{"ms": 2.89, "name": "parse", "searched": "When does the bakery in Lindow open?"}, {"ms": 58.56, "name": "retrieve", "passages": [{"score": 1.0, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": null}, {"score": 0.1144, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": null}, {"score": 0.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": null}]}, {"ms": 15.08, "name": "rerank", "passages": [{"score": 1.0, "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "relevance": 0.9354697465896606}, {"score": 0.1262, "chunk_id": "bc75184b-0f2a-474d-a919-e7515bf479a9", "relevance": 0.7507725954055786}, {"score": 0.0, "chunk_id": "f9349690-eca0-460a-b530-6b1a95e3a359", "relevance": 0.719734251499176}]}, {"ms": 272.9, "name": "answer", "note": "", "cited": ["S1"], "answerer": "extractive"}, {"ms": 88.27, "name": "cite", "citations": 1, "confidence": 0.8625206895412838}]', '2026-11-23 12:42:56.272828+00', 1),
	('b8a911ed-e101-4399-b9ca-fdfb23062ba9', 'Who built it?', 'The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill.', 0.15216703739651163, 'extractive', 'hashing-64', 'c8895966dc12630cae127204dc4c1f90c73e702a1801a66c2a6994c737011d28', '[{"ms": 1.44, "name": "selected.parse", "searched": "Who built it?"}, {"ms": 15.48, "name": "selected.retrieve", "passages": [{"score": 0.252, "chunk_id": "selected-0", "relevance": null}]}, {"ms": 106.52, "name": "selected.rerank", "passages": [{"score": 0.5512, "chunk_id": "selected-0", "relevance": 0.7955024838447571}]}, {"ms": 139.29, "name": "selected.answer", "note": "", "cited": ["S1"], "answerer": "extractive"}, {"ms": 90.54, "name": "selected.cite", "citations": 1, "confidence": 0.15216703739651163}]', '2026-11-23 12:42:56.726677+00', 1);

INSERT INTO public.qa_session (id, created_at, last_used_at) VALUES
	('d0ea3869-45e4-41dc-a59a-61c785c90e39', '2026-11-23 12:42:55.809922+00', '2026-11-23 12:42:56.294584+00'),
	('2e978e63-e03b-46ae-95f3-01fddfc48392', '2026-11-23 12:42:56.349328+00', '2026-11-23 12:42:56.776032+00');

INSERT INTO public.qa_chatstream (id, created_at, finished_at, answer_id, session_id) VALUES
	('6ee23b7a-63fc-4afc-a9a2-7154feee8657', '2026-11-23 12:42:55.814382+00', '2026-11-23 12:42:56.313298+00', '9567322a-b858-40fd-ac4a-b9bea4d3ef5b', 'd0ea3869-45e4-41dc-a59a-61c785c90e39');

INSERT INTO public.qa_chatevent (id, ordinal, kind, body, document_id, stream_id) VALUES
	(1, 1, 'chunk', '{"type": "chunk", "content": "The bakery in Lindow opens at five in the morning.", "citation": null}', NULL, '6ee23b7a-63fc-4afc-a9a2-7154feee8657'),
	(2, 2, 'citation', '{"type": "citation", "content": "", "citation": {"page": null, "text": "The bakery in Lindow opens at five in the morning.", "quote": "The bakery in Lindow opens at five in the morning.", "score": 1.0, "title": "Lindow", "source": {"chapter": "Lindow", "heading": "The bakery", "section": "The bakery"}, "preview": "# Lindow\n\n## The bakery\n\nThe bakery in Lindow opens at five in the morning. It bakes rye bread with caraway, and sells the first loaves to the fishermen before ", "support": "supported", "chunk_id": "ffd0f241-306a-4b4e-add0-8555051c32ac", "end_char": 75, "selected": false, "answer_end": 50, "source_uri": "file:///srv/notes/bakery.md", "start_char": 25, "document_id": "1327200e-d67c-4d07-864a-ebe5f4568521", "answer_start": 0, "heading_path": ["Lindow", "The bakery"], "content_sha256": "4cd52190ca23e34eb3e3f33d85c0b4038f8d90ac00933abaaf551e484c3c48d0"}}', '1327200e-d67c-4d07-864a-ebe5f4568521', '6ee23b7a-63fc-4afc-a9a2-7154feee8657'),
	(3, 3, 'done', '{}', NULL, '6ee23b7a-63fc-4afc-a9a2-7154feee8657');

INSERT INTO public.qa_citation (id, ordinal, content_sha256, title, source_uri, heading_path, page, quote, start_char, end_char, answer_start, answer_end, score, support, answer_id, chunk_id, document_id, is_selected) VALUES
	(1, 0, 'd5d3c707a0dc314903d104e6c4a7ed0feb1007cafac4da758fde467407d9a730', 'Bavoke, \ "quoted"; 😀', 'https://example.org/bavoke', '[]', NULL, 'The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill.', 0, 73, 0, 73, 1, 'supported', 'ee41930a-31cc-4dcf-9693-545e512c9163', 'bc75184b-0f2a-474d-a919-e7515bf479a9', '903ae28c-6ab2-4b09-97d8-25b0a6ba5ea5', false),
	(3, 0, '4cd52190ca23e34eb3e3f33d85c0b4038f8d90ac00933abaaf551e484c3c48d0', 'Lindow', 'file:///srv/notes/bakery.md', '["Lindow", "The bakery"]', NULL, 'The bakery in Lindow opens at five in the morning.', 25, 75, 0, 50, 1, 'supported', '9567322a-b858-40fd-ac4a-b9bea4d3ef5b', 'ffd0f241-306a-4b4e-add0-8555051c32ac', '1327200e-d67c-4d07-864a-ebe5f4568521', false),
	(4, 0, 'd5d3c707a0dc314903d104e6c4a7ed0feb1007cafac4da758fde467407d9a730', '', '', '[]', NULL, 'The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill.', 0, 73, 0, 73, 0.5511857867240906, 'supported', 'b8a911ed-e101-4399-b9ca-fdfb23062ba9', NULL, NULL, true),
	(2, 0, 'b853018d8d66caf39198fa5e6cc2d655780962022147c48c41789bb5e7547e99', 'Ferry', '', '[]', NULL, '', 0, 61, 0, 61, 1, 'supported', '4a51a5cd-07ab-4830-a4b5-5cebdc87b767', NULL, NULL, false);

INSERT INTO public.qa_feedback (id, rating, comment, review, created_at, reviewed_at, answer_id) VALUES
	('25640aff-214a-45e2-abef-aab248683773', 'down', '', 'waiting', '2026-11-23 12:42:56.825758+00', NULL, '4a51a5cd-07ab-4830-a4b5-5cebdc87b767'),
	('f350465f-7720-422c-8736-dcaf71cc1c5f', 'up', 'right', 'accepted', '2026-11-23 12:42:56.800798+00', '2026-11-23 12:42:56.88831+00', 'ee41930a-31cc-4dcf-9693-545e512c9163');

INSERT INTO public.qa_message (id, searched, created_at, answer_id, session_id) VALUES
	(1, 'When does the bakery in Lindow open?', '2026-11-23 12:42:56.293066+00', '9567322a-b858-40fd-ac4a-b9bea4d3ef5b', 'd0ea3869-45e4-41dc-a59a-61c785c90e39'),
	(2, 'Who built it?', '2026-11-23 12:42:56.772957+00', 'b8a911ed-e101-4399-b9ca-fdfb23062ba9', '2e978e63-e03b-46ae-95f3-01fddfc48392');

SELECT pg_catalog.setval('public.auth_group_id_seq', 1, false);

SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 1, false);

SELECT pg_catalog.setval('public.auth_user_groups_id_seq', 1, false);

SELECT pg_catalog.setval('public.auth_user_id_seq', 1, true);

SELECT pg_catalog.setval('public.auth_user_user_permissions_id_seq', 1, false);

SELECT pg_catalog.setval('public.corpus_chunktag_id_seq', 3, true);

SELECT pg_catalog.setval('public.corpus_collection_id_seq', 2, true);

SELECT pg_catalog.setval('public.corpus_collectionmap_id_seq', 1, true);

SELECT pg_catalog.setval('public.corpus_document_tags_id_seq', 3, true);

SELECT pg_catalog.setval('public.corpus_embedding_id_seq', 5, true);

SELECT pg_catalog.setval('public.corpus_idempotentrequest_id_seq', 2, true);

SELECT pg_catalog.setval('public.corpus_jobitem_id_seq', 4, true);

SELECT pg_catalog.setval('public.corpus_tag_id_seq', 3, true);

SELECT pg_catalog.setval('public.qa_chatevent_id_seq', 3, true);

SELECT pg_catalog.setval('public.qa_citation_id_seq', 4, true);

SELECT pg_catalog.setval('public.qa_message_id_seq', 2, true);

SET CONSTRAINTS ALL IMMEDIATE;
CREATE INDEX embedding_hnsw_4314243c4a5e95a0 ON public.corpus_embedding USING hnsw (((vector)::halfvec(64)) halfvec_cosine_ops) WITH (m='16', ef_construction='64') WHERE ((model)::text = 'hashing-64'::text);
CREATE INDEX embedding_hnsw_b7b1e6c8552dea40 ON public.corpus_embedding USING hnsw (((vector)::halfvec(32)) halfvec_cosine_ops) WITH (m='16', ef_construction='64') WHERE ((model)::text = 'hashing-32'::text);
