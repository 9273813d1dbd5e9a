"""The words that the extension itself puts on pages, in the languages that it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

CHINESE = {
    "{count} checks": "{count} 项检查",
    "{count} claims": "{count} 条论断",
    "accepted in {thread}": "已在 {thread} 接受",
    "Answer": "回答",
    "Chapter": "章节",
    "Changed since this run: {names}.": "本次运行后有改动：{names}。",
    "Check": "检查",
    "Claim": "论断",
    "Copied": "已复制",
    "Copy": "复制",
    "Difference": "差异",
    "differs": "不同",
    "Discuss": "讨论",
    "Discuss this section": "讨论本节",
    "Eager": "动态图",
    "Evidence": "证据",
    "Executed notebook": "已执行的笔记本",
    "Expected": "预期",
    "failed": "未通过",
    "Got": "实际",
    "holds": "成立",
    "Kind": "类别",
    "limit": "限制",
    "Link to this claim": "本论断的链接",
    "Mutant": "变异体",
    "What it does wrong": "错在何处",
    "Source": "来源",
    "Kills": "击杀数",
    "New or decided otherwise since this run:": "本次运行后新增或改变判定方式：",
    "No run under mutants is recorded yet.": "尚无变异体运行记录。",
    "{claims} claims under {mutants} mutants, run on {day} with {versions}.": (
        "{claims} 条论断，{mutants} 个变异体，{day} 运行于 {versions}。"
    ),
    "Raises": "抛出异常",
    "● killed by a check; ▲ an exception came instead of a value; empty: survived; "
    "· uses no code of the mutant; ○ no verdict; ? not tried.": (
        "●：被检查击杀；▲：未得到值而抛出异常；空：存活；·：未用到变异体的代码；○：无判定；?：未运行。"
    ),
    "all": "全部",
    "none": "无",
    "open": "未决",
    "parity": "一致",
    "passed": "通过",
    "peer": "同类框架",
    "performance": "性能",
    "proposed": "提议中",
    "Quantity": "量",
    "Question": "问题",
    "recorded {day}": "记录于 {day}",
    "recorded": "已记录",
    "regressed": "已退化",
    "Reproduce": "重现",
    "Result": "结果",
    "safer": "更安全",
    "Search": "搜索",
    "Static": "静态图",
    "status-quo": "现状",
    "Thread": "讨论串",
    "undecided": "未判定",
    "untestable since {day}": "自 {day} 起不可测试",
    "untestable": "不可测试",
    "Verdict": "判定",
    "Why no cell decides it": "为何没有代码单元判定",
    "wording changed since {thread}": "自 {thread} 后措辞已改",
}
LANGUAGES = {"zh_CN": CHINESE}


def words(language: str | None) -> Callable[[str], str]:
    """Return the function that gives a word in ``language``; English where it is not known."""
    known = LANGUAGES.get(language or "", {})
    return lambda word: known.get(word, word)
