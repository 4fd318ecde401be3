from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from corpus.endpoints import Endpoint, endpoint
from web.views import (
    account_pages,
    ask_pages,
    bulk_pages,
    conversation_pages,
    count_pages,
    document_pages,
    folder_pages,
    grid_pages,
    job_pages,
    library_pages,
    openid_pages,
    page_image_pages,
    quality_pages,
    rule_pages,
    search_pages,
    sharing_pages,
    site_pages,
    standing_question_pages,
)


@endpoint(GET=Endpoint(is_open=True))
class Favicon(RedirectView):
    """Redirects to the icon; browsers look here for the icon of a file or of JSON."""

    url = static("web/icon.svg")


app_name = "web"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="web:home"), name="root"),
    path("favicon.ico", Favicon.as_view(), name="favicon"),
    path("ui/", RedirectView.as_view(pattern_name="web:ask"), name="home"),
    path("ui/ask", ask_pages.ask, name="ask"),
    path("ui/chats", conversation_pages.chats, name="chats"),
    path("ui/chats/<uuid:session_id>", conversation_pages.chat, name="chat"),
    path("ui/chats/<uuid:session_id>/head", conversation_pages.head, name="chat_head"),
    path("ui/chats/<uuid:session_id>/name", conversation_pages.rename, name="rename_chat"),
    path("ui/chats/<uuid:session_id>/delete", conversation_pages.delete, name="delete_chat"),
    path("ui/chats/<uuid:session_id>/export", conversation_pages.export, name="export_chat"),
    path(
        "ui/standing-questions",
        standing_question_pages.standing_questions,
        name="standing_questions",
    ),
    path(
        "ui/standing-questions/<uuid:question_id>",
        standing_question_pages.change,
        name="change_standing_question",
    ),
    path("ui/answers/<uuid:answer_id>", conversation_pages.answer, name="answer"),
    path("ui/answers/<uuid:answer_id>/turn", conversation_pages.turn, name="turn"),
    path(
        "ui/answers/<uuid:answer_id>/markdown",
        conversation_pages.as_markdown,
        name="answer_markdown",
    ),
    path("ui/search", search_pages.search, name="search"),
    path("ui/count", count_pages.count, name="count"),
    path("ui/grids", grid_pages.grids, name="grids"),
    path("ui/grids/<uuid:grid_id>", grid_pages.grid, name="grid"),
    path("ui/grids/<uuid:grid_id>/delete", grid_pages.delete, name="delete_grid"),
    path("ui/library", library_pages.library, name="library"),
    path("ui/library/upload", library_pages.upload, name="upload"),
    path("ui/library/paste", library_pages.paste, name="paste"),
    path("ui/library/folder", folder_pages.sync_folder, name="sync_folder"),
    path("ui/library/watch", folder_pages.watch_folder, name="watch_folder"),
    path("ui/library/watched/<int:folder_id>/sync", folder_pages.sync_watched, name="sync_watched"),
    path("ui/library/watched/<int:folder_id>/stop", folder_pages.unwatch, name="unwatch_folder"),
    path("ui/library/sources/<str:name>/sync", folder_pages.sync_source, name="sync_source"),
    path("ui/library/sites", site_pages.keep, name="add_site"),
    path("ui/library/sites/<uuid:site_id>/refresh", site_pages.refresh, name="refresh_site"),
    path("ui/library/sites/<uuid:site_id>/remove", site_pages.remove, name="remove_site"),
    path("ui/library/bulk", bulk_pages.bulk, name="bulk"),
    path("ui/library/clear", library_pages.clear, name="clear_finished"),
    path("ui/rules", rule_pages.rules, name="rules"),
    path("ui/rules/new", rule_pages.rule, name="new_rule"),
    path("ui/rules/<uuid:rule_id>", rule_pages.rule, name="rule"),
    path("ui/rules/<uuid:rule_id>/delete", rule_pages.delete, name="delete_rule"),
    path("ui/collections/<name:name>/access", sharing_pages.access, name="access"),
    path("ui/collections/<name:name>/share", sharing_pages.share, name="share"),
    path(
        "ui/collections/<name:name>/access/<int:grant_id>/revoke",
        sharing_pages.revoke,
        name="revoke_grant",
    ),
    path("ui/library/formats", library_pages.formats, name="formats"),
    path("ui/library/collection", library_pages.add_collection, name="add_collection"),
    path("ui/library/rename", library_pages.rename_collection, name="rename_collection"),
    path("ui/documents/<uuid:document_id>", document_pages.document, name="document"),
    path("ui/documents/<uuid:document_id>/pages/<int:number>", page_image_pages.page, name="page"),
    path("ui/documents/<uuid:document_id>/passage", ask_pages.passage, name="passage"),
    path("ui/documents/<uuid:document_id>/tags", document_pages.tag, name="tag"),
    path("ui/documents/<uuid:document_id>/reingest", document_pages.reingest, name="reingest"),
    path("ui/documents/<uuid:document_id>/delete", document_pages.delete, name="delete"),
    path("ui/jobs", job_pages.jobs, name="jobs"),
    path("ui/jobs/<uuid:job_id>", job_pages.job, name="job"),
    path("ui/jobs/<uuid:job_id>/retry", job_pages.retry, name="retry"),
    path("ui/jobs/<uuid:job_id>/cancel", job_pages.cancel, name="cancel"),
    path("ui/login", account_pages.Login.as_view(), name="login"),
    path("ui/login/openid", openid_pages.begin, name="openid"),
    path("ui/login/openid/callback", openid_pages.come_back, name="openid_callback"),
    path("ui/logout", account_pages.Logout.as_view(), name="logout"),
    path("ui/password", account_pages.ChangePassword.as_view(), name="password"),
    path("ui/setup", account_pages.setup, name="setup"),
    path("ui/keys", account_pages.keys, name="keys"),
    path("ui/keys/<int:key_id>/revoke", account_pages.revoke, name="revoke_key"),
    path("ui/quality", quality_pages.quality, name="quality"),
    path("ui/quality/plots/<str:dataset>/<str:name>", quality_pages.plot, name="plot"),
    path("ui/quality/confidence", quality_pages.confidence, name="confidence"),
]
